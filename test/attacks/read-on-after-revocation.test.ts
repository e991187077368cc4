import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { after, before, test } from 'node:test';
import { addPerson, addTenant, ok, type Person, type Tenant } from '../support/people.ts';
import { type Answer, onBothDatabases, type Service, startService } from '../support/service.ts';
import { addVault, auditOf } from '../support/vaults.ts';

/** Far more than the buffers between the service and a reader who has stopped reading. */
const SECRETS = 320;
const VALUE_CHARS = 128 * 1024;
const IMPORTED_AT_ONCE = 40;
const MARK = 'value-of-';

/** A slow reader must not get values that are read after the revocation. */
onBothDatabases('a stream', (kind) => {
  let service: Service;
  let tenant: Tenant;
  let owner: string;
  let vault: string;
  let reader: Person;

  before(async () => {
    service = await startService(kind);
    tenant = await addTenant(service);
    owner = tenant.owner.token;
    vault = await addVault(service, {}, owner);
    for (let at = 0; at < SECRETS; at += IMPORTED_AT_ONCE) {
      const paths = Array.from({ length: IMPORTED_AT_ONCE }, (_, i) => `key${at + i}`);
      const secrets = Object.fromEntries(paths.map((path) => [path, `${MARK}${path}-`.padEnd(VALUE_CHARS, 'x')]));
      await ok(send('POST', `/v1/vaults/${vault}/import`, { secrets }));
    }
  });
  after(() => service.close());

  const send = (method: string, path: string, body?: unknown) =>
    service.call(method, path, { token: owner, ...(body !== undefined && { body }) });

  async function newReader(): Promise<void> {
    reader = await addPerson(service, { tenant });
    const role = 'manager';
    await ok(send('POST', `/v1/vaults/${vault}/members`, { user: reader.id, role }), 201);
  }

  /** Reads the beginning, stops while `meanwhile` is done, and reads on; answers how it ended and how many values came. */
  async function readThrough(path: string, meanwhile: () => Promise<Answer>) {
    const request = get(`${service.url}${path}`, { headers: { authorization: `Bearer ${reader.token}` } });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    assert.equal(response.statusCode, 200);
    response.setEncoding('latin1');
    let values = 0;
    let tail = '';
    const count = (chunk: string) => {
      const text = tail + chunk;
      values += text.split(MARK).length - 1;
      tail = text.slice(-(MARK.length - 1));
    };
    response.once('data', (chunk: string) => {
      count(chunk);
      response.pause();
    });
    await once(response, 'pause');
    const { status, text } = await meanwhile();
    assert.ok(status === 200 || status === 204, text);
    response.on('data', count);
    response.resume();
    await once(response, 'close').catch((error: unknown) => {
      assert.equal((error as NodeJS.ErrnoException).code, 'ECONNRESET');
    });
    return { isComplete: response.complete, values };
  }

  async function assertCutOff(path: string, meanwhile: () => Promise<Answer>, action: string): Promise<void> {
    const { isComplete, values } = await readThrough(path, meanwhile);
    assert.equal(isComplete, false, 'the client can tell that it is not whole');
    assert.ok(values < SECRETS / 2, `${values} of ${SECRETS} values came`);
    const denied = await auditOf(service, `action=${action}&decision=deny&actor=${reader.id}`, owner);
    assert.equal(denied.length, 1, 'the refusal is recorded');
  }

  const exportPath = () => `/v1/vaults/${vault}/export`;

  test('of an export gives nothing more to an account that was disabled', async () => {
    await newReader();
    const disable = () => send('PATCH', `/v1/users/${reader.id}`, { status: 'disabled' });
    await assertCutOff(exportPath(), disable, 'secrets:export');
  });

  test('of an export as dotenv gives nothing more to who lost the membership', async () => {
    await newReader();
    const remove = () => send('DELETE', `/v1/vaults/${vault}/members/${reader.id}`);
    await assertCutOff(`${exportPath()}?format=dotenv`, remove, 'secrets:export');
  });

  test('of an aggregate gives nothing more after the token is revoked', async () => {
    await newReader();
    const { tokens } = await ok(service.call('GET', '/auth/tokens', { token: reader.token }));
    const pat = tokens.find((token: { kind: string }) => token.kind === 'pat');
    const revoke = () => send('DELETE', `/auth/tokens/${pat.id}`);
    await assertCutOff(`/v1/vaults/${vault}/aggregate?limit=${SECRETS}`, revoke, 'secrets:aggregate');
  });

  test('goes on to its end for who is not concerned', async () => {
    await newReader();
    const other = await addPerson(service, { tenant });
    const disable = () => send('PATCH', `/v1/users/${other.id}`, { status: 'disabled' });
    assert.deepEqual(await readThrough(exportPath(), disable), { isComplete: true, values: SECRETS });
  });
});
