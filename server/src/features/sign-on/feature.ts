import { HOUR_MS } from '../../kernel/base/clock.ts';
import { feature } from '../../kernel/feature/declaration.ts';
import { SECOND_CHECK_MS } from '../../kernel/time/clock-guard.ts';
import { usersWithSignOn } from '../approvals/index.ts';
import { requiresSignOn } from '../sessions/index.ts';
import { hasSignOnIdentity, signOnLinks, userRemoved } from '../users/index.ts';
import * as contract from './contract.ts';
import * as devices from './devices.ts';
import { linkedProviders, usersWithProvider } from './identity-links.ts';
import { signOnNeeds, signOnProviderRemoved } from './links.ts';
import * as providers from './providers.ts';
import * as signIn from './sign-in.ts';
import { backchannelLogout, readSignOut } from './sign-out.ts';
import { deleteDevicesBefore } from './storage/device-store.ts';
import { deleteIdentitiesOf, hasIdentity, SSO_IDENTITIES, SSO_PROVIDERS } from './storage/identity-store.ts';
import { deleteLogoutsBefore } from './storage/logout-store.ts';

export const signOnFeature = feature({
  name: 'sign-on',
  endpoints: contract,
  tables: {
    authenticated: [SSO_PROVIDERS, SSO_IDENTITIES],
    plain: {
      sso_logouts:
        'remembers logout tokens that were used, within minutes; one that is sent again is still signed by the provider, and can only end sessions',
      device_codes:
        'who confirmed a command line is sealed, bound to its code; a forged row or state confirms nothing, and an old one ends within minutes',
    },
  },
  uses: ['database'],
  needs: signOnNeeds,
  removes: { signOnProviderRemoved },
  build: (parts) => ({
    handlers: {
      createProvider: (ctx, { body }) => providers.create(ctx, body),
      listProviders: (ctx, { query }) => providers.list(ctx, query),
      readProvider: (ctx, { params }) => providers.read(ctx, params.name),
      updateProvider: (ctx, { params, body }) => providers.update(ctx, params.name, body),
      deleteProvider: (ctx, { params }) => providers.remove(ctx, parts.signOnProviderRemoved, params.name),
      readSignIn: (ctx, { params, query }) => signIn.readSignIn(ctx, params.provider, query),
      beginSignIn: (ctx, { params, body }) => signIn.begin(ctx, params.provider, body),
      beginBrowserSignIn: (ctx, { params, body }) => signIn.beginHere(ctx, params.provider, body),
      finishBrowserSignIn: (ctx, { body }) => signIn.finishHere(ctx, body, parts),
      readCallback: (ctx, { params, query }) => signIn.readCallback(ctx, params, query),
      finishSignIn: (ctx, { params, body }) => signIn.finish(ctx, params, body, parts),
      readSignOut: (ctx) => readSignOut(ctx),
      backchannelLogout: (ctx, { params, query, body }) => backchannelLogout(ctx, params.provider, query, body),
      startDevice: (ctx, { body }) => devices.start(ctx, body),
      pollDevice: (ctx, { body }) => devices.poll(ctx, body),
      approveDevice: (ctx, { body }) => devices.approve(ctx, body),
    },
    jobs: [
      {
        name: 'forget-device-codes',
        intervalMs: HOUR_MS,
        // They live ten minutes, so nearly all of them are over.
        removes: { secondCheckMs: SECOND_CHECK_MS, share: null },
        run: (_, cutoff) => parts.database.transaction((tx) => deleteDevicesBefore(tx, cutoff)),
      },
      {
        name: 'forget-provider-logouts',
        intervalMs: HOUR_MS,
        // A logout token is refused as too old long before its row is deleted.
        removes: { secondCheckMs: SECOND_CHECK_MS, share: null },
        run: (_, cutoff) => parts.database.transaction((tx) => deleteLogoutsBefore(tx, cutoff)),
      },
    ],
    provides: [
      requiresSignOn.by(providers.requiresSignOn),
      hasSignOnIdentity.by(hasIdentity),
      signOnLinks.by(linkedProviders),
      usersWithSignOn.by(usersWithProvider),
    ],
    removals: [userRemoved.by(deleteIdentitiesOf)],
  }),
});
