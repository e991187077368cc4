import { HOUR_MS } from '../../kernel/platform/clock.ts';
import type { Feature } from '../../kernel/platform/feature.ts';
import type { Kernel } from '../../kernel/platform/kernel.ts';
import type { Wiring } from '../../kernel/platform/wiring.ts';
import { bindContract } from '../../kernel/request/binding.ts';
import { SECOND_CHECK_MS } from '../../kernel/time/clock-guard.ts';
import * as contract from './contract.ts';
import { deleteDevicesBefore } from './device-store.ts';
import * as devices from './devices.ts';
import { linkedProviders, usersWithProvider } from './links.ts';
import { deleteLogoutsBefore } from './logout-store.ts';
import * as providers from './providers.ts';
import * as signIn from './sign-in.ts';
import { backchannelLogout, readSignOut } from './sign-out.ts';
import { deleteIdentitiesOf, hasIdentity } from './store.ts';

export { denied, givesRole, roleOf, SUBJECT } from './accounts.ts';
export { addLink, endSessionsWith, type LinkOutcome, linksOf, removeLink } from './links.ts';
export { PendingSignIn } from './pending-sign-in.ts';
export { browserAnswer, providerParam } from './schemas.ts';
export {
  deleteIdentity,
  findIdentity,
  findProvider,
  type IdentityRow,
  identityHash,
  insertIdentity,
  lockProvider,
  type ProviderRow,
  providersOf,
  SSO_IDENTITIES,
  SSO_PROVIDERS,
  stateOf,
} from './store.ts';

export function signOnFeature(kernel: Kernel, wiring: Wiring): Feature {
  const ports = wiring.needs('provisionedGroups');
  const removed = wiring.removal('signOnProvider');
  return {
    name: 'sign-on',
    endpoints: bindContract(contract, {
      createProvider: (ctx, { body }) => providers.create(ctx, body),
      listProviders: (ctx, { query }) => providers.list(ctx, query),
      readProvider: (ctx, { params }) => providers.read(ctx, params.name),
      updateProvider: (ctx, { params, body }) => providers.update(ctx, params.name, body),
      deleteProvider: (ctx, { params }) => providers.remove(ctx, removed, params.name),
      readSignIn: (ctx, { params, query }) => signIn.readSignIn(ctx, params.provider, query),
      beginSignIn: (ctx, { params, body }) => signIn.begin(ctx, params.provider, body),
      beginBrowserSignIn: (ctx, { params, body }) => signIn.beginHere(ctx, params.provider, body),
      finishBrowserSignIn: (ctx, { body }) => signIn.finishHere(ctx, body, ports),
      readCallback: (ctx, { params, query }) => signIn.readCallback(ctx, params, query),
      finishSignIn: (ctx, { params, body }) => signIn.finish(ctx, params, body, ports),
      readSignOut: (ctx) => readSignOut(ctx),
      backchannelLogout: (ctx, { params, query, body }) => backchannelLogout(ctx, params.provider, query, body),
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
      {
        name: 'forget-provider-logouts',
        intervalMs: HOUR_MS,
        // A logout token is refused as too old long before its row is deleted.
        removes: { secondCheckMs: SECOND_CHECK_MS, share: null },
        run: (_, cutoff) => kernel.database.transaction((tx) => deleteLogoutsBefore(tx, cutoff)),
      },
    ],
    provides: {
      requiresSignOn: providers.requiresSignOn,
      hasSignOnIdentity: hasIdentity,
      signOnLinks: linkedProviders,
      usersWithSignOn: usersWithProvider,
    },
    removals: { user: deleteIdentitiesOf },
  };
}
