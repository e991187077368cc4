import { ok, uniqueName } from '../support/people.ts';
import { insertProvider, insertScimToken } from '../support/scim.ts';
import { anyOf, type Caller, known, needsOther, type Rule, stranger } from './caller.ts';
import { bearer } from './credentials.ts';
import type { ChangeHooks } from './machine-callers.ts';

const OWN_ACTIONS = ['none', 'scim:read', 'scim:write'];

/** Identity providers with their SCIM tokens: in both tenants, and one with a token that nobody issued. */
export async function scimCallers({ service, foreignToken }: ChangeHooks): Promise<{
  all: Caller[];
  protected: string[];
}> {
  const clientOf = async (token?: string) => {
    const { tenant } = await ok(service.call('GET', '/auth/me', token === undefined ? {} : { token }));
    const provider = await insertProvider(service, tenant.id, uniqueName('provider'));
    return insertScimToken(service, tenant.id, provider, '');
  };
  const [own, foreign] = [await clientOf(), await clientOf(foreignToken)];
  const isBreach: Rule = anyOf(
    needsOther(['scim']),
    ({ isPublic, permission }) => !isPublic && !OWN_ACTIONS.includes(permission),
  );
  return {
    all: [
      known('a provider', 'scim', () => bearer(own.token), { isBreach, seesValues: false }),
      known('a provider of another tenant', 'scim', () => bearer(foreign.token), {
        isBreach,
        side: 'theirs',
        seesValues: false,
        weight: 1,
      }),
      stranger('a provider with a forged token', () => bearer(`cv_scim_${'x'.repeat(49)}`), {}),
    ],
    protected: [own.provider, own.tokenId, foreign.provider, foreign.tokenId],
  };
}
