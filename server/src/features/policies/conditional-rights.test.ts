import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Input, nameOf } from '../../../../test/support/endpoint-inputs.ts';
import { granter, type Neighbours, send, startNeighbours } from '../../../../test/support/isolation.ts';
import { ownInput } from '../../../../test/support/lists.ts';
import { addColleague, type Colleague, uniqueName } from '../../../../test/support/people.ts';
import { onSqliteAtLanding, type Service } from '../../../../test/support/service.ts';
import { addSecret, addVault, type Statement } from '../../../../test/support/vaults.ts';
import type { Condition } from '../../kernel/authz/condition.ts';
import { type EndpointDeclaration, NONE } from '../../kernel/endpoint/declaration.ts';
import { DECLARATIONS } from '../../tools/declarations.ts';

/** All that tell of a vault as a whole: lists, exports, searches, its detail. */
const OF_A_VAULT = DECLARATIONS.filter(
  ({ credentials, effect, params }) =>
    credentials.includes('pat') &&
    effect === 'read' &&
    params !== NONE &&
    Object.keys(params.properties).join() === 'vault',
);

/** The token that is shown is of another vault, so it opens nothing in this one. */
const statusInReach = ({ name }: EndpointDeclaration) => (name === 'detokenize' ? 404 : 200);

const TAG = 'plain';

/** One of each kind: a condition that holds here and now for the vault and all that is in it, and one that does not. */
function conditions(now: number): Record<keyof Condition, { holds: Condition; fails: Condition }> {
  const around = (from: number, to: number) => [{ from: hour(now + from), to: hour(now + to) }];
  return {
    ip_cidr: { holds: { ip_cidr: ['127.0.0.0/8', '::1/128'] }, fails: { ip_cidr: ['203.0.113.0/24'] } },
    environment: { holds: { environment: ['staging'] }, fails: { environment: ['development'] } },
    mfa: { holds: { mfa: [false] }, fails: { mfa: [true] } },
    time_between: {
      holds: { time_between: around(-4 * HOURS, 4 * HOURS) },
      fails: { time_between: around(4 * HOURS, 8 * HOURS) },
    },
    tag_equals: { holds: { tag_equals: [TAG] }, fails: { tag_equals: ['another'] } },
  };
}
const hour = (ms: number) => new Date(ms).toISOString().slice(11, 16);
const HOURS = 3_600_000;

onSqliteAtLanding('rights on a condition', (database) => {
  let neighbours: Neighbours;
  let service: Service;
  let person: Colleague;
  let vault: string;
  let grant: (statements: readonly Statement[]) => Promise<void>;
  const inputs = new Map<EndpointDeclaration, Input>();

  before(async () => {
    neighbours = await startNeighbours(database);
    ({ service } = neighbours);
    person = await addColleague(service, neighbours.ours.tenantId, 'member');
    grant = await granter(service, person.id, neighbours.owner);
    vault = await addVault(service, { tags: [TAG] });
    for (const path of ['a', 'b/c']) await addSecret(service, vault, path, { metadata: { tags: [TAG] } });
    for (const declaration of OF_A_VAULT) inputs.set(declaration, await ownInput(declaration, neighbours.ours));
  });
  after(() => service.close());

  /** What is told of a vault, without what differs between any two answers. */
  async function told(declaration: EndpointDeclaration, name: string) {
    const input = { ...inputs.get(declaration), params: { vault: name } };
    const { status, text, headers } = await send(service, declaration, input, person.token);
    const plain = text.replaceAll(headers.get('x-request-id') ?? '', '<request>').replaceAll(name, '<vault>');
    return { status, text: status < 400 ? '' : plain };
  }

  const all = { action: ['*'], resource: ['vault/**'] };
  const below = { action: ['*'], resource: ['vault/*'] };

  test('there are several endpoints that tell of a vault', () => {
    const names = OF_A_VAULT.map(({ name }) => name);
    for (const name of ['listSecrets', 'aggregateSecrets', 'exportSecrets', 'searchSecrets', 'readVault']) {
      assert.ok(names.includes(name), `${name} is not among ${names}`);
    }
  });

  test('without a condition, what exists is shown and what does not is not found', async () => {
    await grant([all]);
    for (const declaration of OF_A_VAULT) {
      assert.equal((await told(declaration, vault)).status, statusInReach(declaration), nameOf(declaration));
      assert.equal((await told(declaration, uniqueName('none'))).status, 404, nameOf(declaration));
    }
  });

  describe('that does not hold: a vault out of reach is answered like one that does not exist', () => {
    for (const kind of ['ip_cidr', 'environment', 'mfa', 'time_between', 'tag_equals'] as const) {
      test(kind, async () => {
        const { holds, fails } = conditions(service.clock.now())[kind];
        const shut: [string, Statement[]][] = [
          ['allowed if', [{ ...all, condition: fails }]],
          ['allowed below if', [{ ...below, condition: fails }]],
          ['allowed unless', [all, { ...all, effect: 'deny', condition: holds }]],
        ];
        for (const [title, statements] of shut) {
          await grant(statements);
          for (const declaration of OF_A_VAULT) {
            const where = `${title} ${kind}: ${nameOf(declaration)}`;
            const out = await told(declaration, vault);
            assert.equal(out.status, 403, where);
            assert.deepEqual(await told(declaration, uniqueName('none')), out, where);
          }
        }
        const open: Statement[][] = [
          [{ ...all, condition: holds }],
          [all, { ...all, effect: 'deny', condition: fails }],
        ];
        for (const statements of open) {
          await grant(statements);
          for (const declaration of OF_A_VAULT) {
            const where = `${kind} holds: ${nameOf(declaration)}`;
            assert.equal((await told(declaration, vault)).status, statusInReach(declaration), where);
          }
        }
      });
    }
  });

  test('one secret that a condition opens opens the list of its vault', async () => {
    const other = await addVault(service, { environment: 'development' });
    await addSecret(service, other, 'staged', { environment: 'staging' });
    await addSecret(service, other, 'tagged', { metadata: { tags: ['mine'] } });
    await addSecret(service, other, 'neither');
    for (const [condition, path] of [
      [{ environment: ['staging'] }, 'staged'],
      [{ tag_equals: ['mine'] }, 'tagged'],
    ] as const) {
      await grant([{ ...all, condition }]);
      const seen = await service.call('GET', `/v1/vaults/${other}/secrets`, { token: person.token });
      assert.deepEqual([seen.status, seen.body.secrets?.map((one: { path: string }) => one.path)], [200, [path]]);
      const none = await service.call('GET', `/v1/vaults/${other}/secrets?prefix=x`, { token: person.token });
      assert.deepEqual([none.status, none.body.secrets], [200, []]);
    }
  });
});
