import { HOUR_MS } from '../../kernel/base/clock.ts';
import { feature } from '../../kernel/feature/declaration.ts';
import { SECOND_CHECK_MS } from '../../kernel/time/clock-guard.ts';
import { secondFactorSince, secondFactorsOf, userRemoved } from '../users/index.ts';
import { deleteAnsweredBefore } from './challenge-store.ts';
import { prepareChallenges } from './challenges.ts';
import * as contract from './contract.ts';
import { RECOVERY_CODES, TOTP } from './factors/factor-store.ts';
import * as factors from './factors/factors.ts';
import { makeCodes, readCodes } from './factors/recovery-codes.ts';
import { mfaNeeds } from './links.ts';
import { PASSKEYS } from './passkeys/passkey-store.ts';
import * as passkeys from './passkeys/passkeys.ts';
import * as mfa from './service.ts';

export const mfaFeature = feature({
  name: 'mfa',
  endpoints: contract,
  tables: {
    authenticated: [TOTP, RECOVERY_CODES, PASSKEYS],
    plain: {
      answered_challenges:
        'remembers challenges that were answered; one that is answered again needs a response that somebody else saw, within five minutes',
    },
  },
  ids: ['passkey'],
  uses: ['database', 'keyring'],
  needs: mfaNeeds,
  build: (parts) => ({
    open: () => prepareChallenges(parts, passkeys.SIGN_IN),
    handlers: {
      readMfa: (ctx) => mfa.read(ctx),
      enrolTotp: (ctx) => mfa.enrol(ctx, parts),
      confirmTotp: (ctx, { body }) => mfa.confirm(ctx, body, parts),
      disableTotp: (ctx) => mfa.disable(ctx),
      resetMfa: (ctx, { params }) => mfa.reset(ctx, params.user_id, parts),
      trustMfa: (ctx, { params }) => mfa.trust(ctx, params.user_id),
      askMfaTrust: (ctx) => mfa.askTrust(ctx),
      passkeyEnrolmentOptions: (ctx) => passkeys.enrolmentOptions(ctx),
      enrolPasskey: (ctx, { body }) => passkeys.enrol(ctx, body, parts),
      listPasskeys: (ctx) => passkeys.list(ctx),
      renamePasskey: (ctx, { params, body }) => passkeys.rename(ctx, params.passkey_id, body.name),
      deletePasskey: (ctx, { params }) => passkeys.remove(ctx, params.passkey_id, parts),
      readRecoveryCodes: (ctx) => readCodes(ctx),
      makeRecoveryCodes: (ctx) => makeCodes(ctx),
    },
    jobs: [
      {
        name: 'forget-answered-challenges',
        intervalMs: HOUR_MS,
        // They live five minutes, so nearly all of them are over.
        removes: { secondCheckMs: SECOND_CHECK_MS, share: null },
        run: (_, cutoff) => parts.database.transaction((tx) => deleteAnsweredBefore(tx, cutoff)),
      },
    ],
    provides: [secondFactorSince.by(factors.newestFactorAt), secondFactorsOf.by(factors.secondFactorsOf)],
    removals: [userRemoved.by(factors.deleteFactorsOf)],
  }),
});
