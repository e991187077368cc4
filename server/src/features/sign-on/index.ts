import { HOUR_MS } from '../../kernel/platform/clock.ts';
import type { Feature } from '../../kernel/platform/feature.ts';
import type { Kernel } from '../../kernel/platform/kernel.ts';
import { bindContract } from '../../kernel/request/binding.ts';
import { SECOND_CHECK_MS } from '../../kernel/time/clock-guard.ts';
import * as contract from './contract.ts';
import { deleteDevicesBefore } from './device-store.ts';
import * as devices from './devices.ts';
import * as providers from './providers.ts';
import * as signIn from './sign-in.ts';
import { deleteIdentitiesOf } from './store.ts';

export { SSO_IDENTITIES, SSO_PROVIDERS } from './store.ts';

export function signOnFeature(kernel: Kernel): Feature {
  return {
    name: 'sign-on',
    endpoints: bindContract(contract, {
      createProvider: (ctx, { body }) => providers.create(ctx, body),
      listProviders: (ctx, { query }) => providers.list(ctx, query),
      readProvider: (ctx, { params }) => providers.read(ctx, params.name),
      updateProvider: (ctx, { params, body }) => providers.update(ctx, params.name, body),
      deleteProvider: (ctx, { params }) => providers.remove(ctx, params.name),
      readSignIn: (ctx, { params, query }) => signIn.readSignIn(ctx, params.provider, query),
      beginSignIn: (ctx, { params, body }) => signIn.begin(ctx, params.provider, body),
      readCallback: (ctx, { query }) => signIn.readCallback(ctx, query),
      finishSignIn: (ctx, { body }) => signIn.finish(ctx, body),
      startDevice: (ctx, { body }) => devices.start(ctx, body),
      pollDevice: (ctx, { body }) => devices.poll(ctx, body),
      approveDevice: (ctx, { body }) => devices.approve(ctx, body),
    }),
    jobs: [
      {
        name: 'forget-device-codes',
        intervalMs: HOUR_MS,
        // They live ten minutes, so nearly all of them are over.
        removes: { secondCheckMs: SECOND_CHECK_MS, share: null },
        run: (_, cutoff) => kernel.database.transaction((tx) => deleteDevicesBefore(tx, cutoff)),
      },
    ],
    provides: { requiresSignOn: providers.requiresSignOn },
    removals: { user: deleteIdentitiesOf },
  };
}
