import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FIELD_MANAGER, type KubeSecret, leasesPath, secretsPath } from '../../agent/src/cluster/kube-client.ts';
import type { ApiAnswer, ClusterApi, OpenCluster } from './cluster-api.ts';
import { base64 } from './desired-states.ts';

const APPLY = 'application/apply-patch+yaml';
const MERGE = 'application/merge-patch+json';
const OURS = `?fieldManager=${FIELD_MANAGER}`;
const FORCED = `${OURS}&force=true`;

function secretOf(name: string, data: Record<string, string>, more: Partial<KubeSecret> = {}): KubeSecret {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: 'shop' }, type: 'Opaque', data, ...more };
}

function leaseOf(holderIdentity: string, metadata: object = {}) {
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: 'lease', namespace: 'coffer', ...metadata },
    spec: { holderIdentity, leaseDurationSeconds: 15 },
  };
}

const metadataOf = ({ body }: ApiAnswer) => body['metadata'] as { uid: string; resourceVersion: string };
const dataOf = ({ body }: ApiAnswer) => body['data'];
const shortOf = ({ status, reason }: ApiAnswer) => `${status} ${reason}`.trim();

/** What the operator relies on in an API server, request by request. */
export function testKubernetes(where: string, open: OpenCluster): void {
  const at = (name: string) => secretsPath('shop', name);
  const apply = (kube: ClusterApi, secret: KubeSecret, query = OURS) =>
    kube.send('PATCH', `${at(secret.metadata.name)}${query}`, secret, APPLY);

  describe(`what the operator relies on, ${where}`, () => {
    test('apply makes, keeps the version of the same content, removes a dropped key, and conflicts with others', async () => {
      const kube = await open(['shop']);
      const made = await apply(kube, secretOf('a', { x: base64('1'), y: base64('2') }));
      assert.equal(shortOf(made), '201');
      const again = await apply(kube, secretOf('a', { x: base64('1'), y: base64('2') }));
      assert.equal(shortOf(again), '200');
      assert.equal(metadataOf(again).resourceVersion, metadataOf(made).resourceVersion);
      const dropped = await apply(kube, secretOf('a', { x: base64('1') }));
      assert.deepEqual(dataOf(dropped), { x: base64('1') });
      assert.notEqual(metadataOf(dropped).resourceVersion, metadataOf(made).resourceVersion);
      assert.equal(metadataOf(dropped).uid, metadataOf(made).uid);

      const foreign = { data: { x: base64('theirs'), z: base64('3') } };
      assert.equal(shortOf(await kube.send('PATCH', `${at('a')}?fieldManager=other`, foreign, MERGE)), '200');
      assert.equal(shortOf(await apply(kube, secretOf('a', { x: base64('1') }))), '409 Conflict');
      const forced = await apply(kube, secretOf('a', { x: base64('1') }), FORCED);
      assert.deepEqual([forced.status, dataOf(forced)], [200, { x: base64('1'), z: base64('3') }]);
      assert.equal(shortOf(await apply(kube, secretOf('a', { x: base64('4') }))), '200', 'the field is ours again');
    });

    test('a key that two own stays when one drops it', async () => {
      const kube = await open(['shop']);
      await apply(kube, secretOf('shared', { x: base64('1') }));
      const both = secretOf('shared', { x: base64('1') });
      assert.equal(shortOf(await apply(kube, both, '?fieldManager=other')), '200');
      const dropped = await apply(kube, secretOf('shared', {}));
      assert.deepEqual(dataOf(dropped), { x: base64('1') });
    });

    const refused: Record<string, [KubeSecret, string, string?]> = {
      'a type that changes': [secretOf('fixed', { x: base64('1') }, { type: 'example.com/y' }), '422 Invalid'],
      'data that is too large': [secretOf('large', { x: base64('z'.repeat(1_048_577)) }), '422 Invalid'],
      'a key with a slash': [secretOf('slash', { 'a/b': base64('1') }), '422 Invalid'],
      'a name in capitals': [secretOf('UPPER', { x: base64('1') }), '422 Invalid'],
      'TLS without its keys': [secretOf('tls', { x: base64('1') }, { type: 'kubernetes.io/tls' }), '422 Invalid'],
      'a login without one': [secretOf('b', { x: base64('1') }, { type: 'kubernetes.io/basic-auth' }), '422 Invalid'],
      'SSH without a key': [secretOf('s', { x: base64('1') }, { type: 'kubernetes.io/ssh-auth' }), '422 Invalid'],
      'a registry without JSON': [
        secretOf('d', { '.dockerconfigjson': base64('{') }, { type: 'kubernetes.io/dockerconfigjson' }),
        '422 Invalid',
      ],
      'data that is no base64': [secretOf('b64', { x: '%' }), '500'],
      'another name than that of the path': [
        secretOf('n', {}, { metadata: { name: 'm', namespace: 'shop' } }),
        '400 BadRequest',
        'n',
      ],
      'another namespace than that of the path': [
        secretOf('n', {}, { metadata: { name: 'n', namespace: 'coffer' } }),
        '400 BadRequest',
        'n',
      ],
      'another version of the API': [secretOf('n', {}, { apiVersion: 'v2' }), '400 BadRequest'],
    };
    for (const [what, [secret, expected, name = secret.metadata.name]] of Object.entries(refused)) {
      test(`apply refuses ${what}`, async () => {
        const kube = await open(['shop']);
        await apply(kube, secretOf('fixed', { x: base64('1') }));
        const answer = await kube.send('PATCH', `${at(name)}${FORCED}`, secret, APPLY);
        assert.equal(shortOf(answer), expected, JSON.stringify(answer.body));
        assert.equal((await kube.find('secrets', 'shop', 'fixed'))?.type, 'Opaque');
      });
    }

    test('a missing namespace: lists are empty, and nothing can be made', async () => {
      const kube = await open(['shop']);
      const list = await kube.send('GET', secretsPath('missing'));
      assert.deepEqual([list.status, list.body['items']], [200, []]);
      const secret = secretOf('a', {}, { metadata: { name: 'a', namespace: 'missing' } });
      assert.equal(
        shortOf(await kube.send('PATCH', `${secretsPath('missing', 'a')}${OURS}`, secret, APPLY)),
        '404 NotFound',
      );
      assert.equal(shortOf(await kube.send('GET', secretsPath('shop', 'none'))), '404 NotFound');
    });

    test('an apply needs a manager, and a patch a known kind', async () => {
      const kube = await open(['shop']);
      const secret = secretOf('a', { x: base64('1') });
      assert.equal(shortOf(await kube.send('PATCH', at('a'), secret, APPLY)), '422 Invalid');
      assert.equal(
        shortOf(await kube.send('PATCH', `${at('a')}${OURS}`, secret, 'text/plain')),
        '415 UnsupportedMediaType',
      );
      assert.equal(shortOf(await kube.send('PATCH', `${at('a')}${OURS}`, secret, MERGE)), '404 NotFound');
    });

    test('a delete with preconditions deletes only what was looked at', async () => {
      const kube = await open(['shop']);
      const first = metadataOf(await apply(kube, secretOf('a', { x: base64('1') })));
      const made = metadataOf(await apply(kube, secretOf('a', { x: base64('2') })));
      const preconditions = (more: object) => ({
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        preconditions: { uid: made.uid, resourceVersion: made.resourceVersion, ...more },
      });
      const stale = await kube.send('DELETE', at('a'), preconditions({ resourceVersion: first.resourceVersion }));
      assert.equal(shortOf(stale), '409 Conflict');
      const other = { uid: '00000000-0000-0000-0000-000000000000' };
      assert.equal(shortOf(await kube.send('DELETE', at('a'), preconditions(other))), '409 Conflict');
      assert.equal((await kube.send('DELETE', at('a'), preconditions({}))).status, 200);
      assert.equal(shortOf(await kube.send('DELETE', at('a'), preconditions({}))), '404 NotFound');
    });

    test('lists select by labels, and go on where a page ended', async () => {
      const kube = await open(['shop']);
      for (let i = 0; i < 5; i++) {
        const labels = { kind: i === 3 ? 'odd' : 'even' };
        await apply(kube, secretOf(`s${i}`, {}, { metadata: { name: `s${i}`, namespace: 'shop', labels } }));
      }
      const names: string[] = [];
      let next = '';
      do {
        const more = next === '' ? '' : `&continue=${encodeURIComponent(next)}`;
        const { body } = await kube.send('GET', `${secretsPath('shop')}?limit=2&labelSelector=kind%3Deven${more}`);
        const items = body['items'] as KubeSecret[];
        assert.ok(items.length <= 2);
        names.push(...items.map(({ metadata }) => metadata.name));
        next = String((body['metadata'] as { continue?: string }).continue ?? '');
      } while (next !== '');
      assert.deepEqual(names, ['s0', 's1', 's2', 's4']);
    });

    test('a Lease is made once, and replaced only by who has seen the last version', async () => {
      const kube = await open(['shop']);
      const path = leasesPath('coffer', 'lease');
      const made = await kube.send('POST', leasesPath('coffer'), leaseOf('a'));
      assert.equal(shortOf(made), '201');
      assert.equal(shortOf(await kube.send('POST', leasesPath('coffer'), leaseOf('b'))), '409 AlreadyExists');
      const { resourceVersion } = metadataOf(made);
      assert.equal(shortOf(await kube.send('PUT', path, leaseOf('b', { resourceVersion }))), '200');
      assert.equal(shortOf(await kube.send('PUT', path, leaseOf('c', { resourceVersion }))), '409 Conflict');
    });
  });
}
