import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, test } from 'node:test';
import { stateChecksum } from '../../agent/src/cluster/desired-state.ts';
import { OperatorMetrics } from '../../agent/src/cluster/metrics.ts';
import { Operator, RESTART_ON, RESTARTED_FOR } from '../../agent/src/cluster/operator.ts';
import { CLUSTER_LABEL, MANAGED_BY } from '../../agent/src/cluster/reconcile.ts';
import { newLog } from '../../agent/src/log.ts';
import { readSettings } from '../../agent/src/settings.ts';
import type { OpenCluster } from './cluster-api.ts';
import { base64, CLUSTER, DesiredStates, stateOf, TOKEN, type Wanted } from './desired-states.ts';
import { newFolder } from './host-root.ts';
import { until } from './until.ts';

const DATABASE: Wanted = { name: 'database', data: { user: 'ada', password: 'hunter2' } };
const OTHER: Wanted = { name: 'x', data: { a: 'b' } };
/** A real API server takes a revoked token for some seconds more, since it caches who a token is of. */
const REVOKED_WITHIN_MS = 20_000;

const doubtful: Record<string, (coffer: DesiredStates) => void> = {
  'an error of the service': (coffer) => {
    coffer.status = 503;
  },
  'a revoked token of the cluster': (coffer) => {
    coffer.status = 401;
  },
  'an answer that is cut': (coffer) => {
    coffer.isCut = true;
    coffer.state = stateOf(5, [OTHER]);
  },
  'a wrong checksum': (coffer) => {
    coffer.state = { ...stateOf(5, [OTHER]), generation: 6 };
  },
  'a wrong checksum of a Secret': (coffer) => {
    const state = stateOf(5, [OTHER]);
    for (const secret of state.secrets) secret.data = { a: base64('c') };
    coffer.state = state;
  },
  'the state of another cluster': (coffer) => {
    const state = { ...stateOf(5, [OTHER]), cluster_id: 'cluster_01b' };
    coffer.state = { ...state, checksum: stateChecksum(state) };
  },
  'an older generation': (coffer) => {
    coffer.state = stateOf(1, [OTHER]);
  },
  'a Secret that is named twice': (coffer) => {
    coffer.state = stateOf(5, [DATABASE, DATABASE]);
  },
  'a name that is a path': (coffer) => {
    coffer.state = stateOf(5, [{ ...OTHER, name: '../../x' }]);
  },
  'no JSON': (coffer) => {
    coffer.state = 'hello';
  },
  'a state without secrets by mistake': (coffer) => {
    coffer.state = { cluster_id: CLUSTER, generation: 7 };
  },
};

/** What the operator does in a cluster, the same for every API server. */
export function testOperator(where: string, open: OpenCluster): void {
  const closing: (() => unknown)[] = [];

  async function newCluster(namespaces = ['shop', 'web'], env: Record<string, string> = {}) {
    const kube = await open(namespaces, 'CV_RESTART_DEPLOYMENTS' in env ? 'restarts' : 'secrets');
    const coffer = await new DesiredStates().listen();
    closing.push(() => coffer.close());
    const tokenFile = join(newFolder(), 'token');
    writeFileSync(tokenFile, TOKEN);
    const logs: string[] = [];
    const make = (pod: string, args: string[], signal = new AbortController().signal) => {
      const settings = readSettings(args, {
        CV_GUARDIAN_MODE: 'cluster',
        CV_URL: coffer.url,
        CV_CLUSTER_ID: CLUSTER,
        CV_CLUSTER_TOKEN_FILE: tokenFile,
        CV_KUBERNETES_URL: kube.url,
        CV_KUBERNETES_TOKEN_FILE: kube.tokenFile,
        CV_KUBERNETES_CA_FILE: kube.caFile,
        CV_NAMESPACES: namespaces.join(','),
        CV_POD_NAME: pod,
        CV_INTERVAL_SECONDS: '5',
        ...env,
      });
      assert.ok(settings !== 'help');
      const metrics = new OperatorMetrics(settings.intervalSeconds);
      const log = newLog((line) => logs.push(line));
      return { operator: new Operator({ settings, log, metrics, signal }), metrics };
    };
    const once = make('once', ['--once']);
    const secret = (namespace: string, name: string) => kube.find('secrets', namespace, name);
    const newCalls = async (since: number) => (await kube.calls()).slice(since);
    return { kube, coffer, secret, newCalls, round: () => once.operator.run(), metrics: once.metrics, logs, make };
  }

  describe(`the operator, ${where}`, () => {
    afterEach(async () => {
      for (const close of closing.splice(0)) await close();
    });

    test('applies with labels, reports, and leaves what is as it should be', async () => {
      const { kube, coffer, secret, round, logs, metrics, newCalls } = await newCluster();
      const tls = { namespace: 'web', name: 'tls', type: 'kubernetes.io/tls' };
      coffer.state = stateOf(3, [DATABASE, { ...tls, data: { 'tls.crt': 'c', 'tls.key': 'k' } }]);
      assert.equal(await round(), true, logs.join(''));
      const stored = await secret('shop', 'database');
      assert.deepEqual(stored?.data, { user: base64('ada'), password: base64('hunter2') });
      assert.equal(stored?.metadata.labels?.[MANAGED_BY], 'coffer');
      assert.equal(stored?.metadata.labels?.[CLUSTER_LABEL], CLUSTER);
      assert.deepEqual(coffer.states(), ['shop/database applied', 'web/tls applied']);
      assert.equal(coffer.reports[0]?.generation, 3);
      const before = (await kube.calls()).length;
      assert.equal(await round(), true);
      assert.deepEqual(coffer.states(), ['shop/database unchanged', 'web/tls unchanged']);
      assert.equal(coffer.notModified, 1, 'the second fetch was answered by 304');
      const calls = await newCalls(before);
      assert.ok(calls.some((call) => /^GET .*\/secrets$/.test(call)));
      assert.ok(!calls.some((call) => /^(PATCH|DELETE).*secrets/.test(call)));
      assert.match(metrics.text(), /coffer_operator_secrets\{state="unchanged"\} 2/);
      assert.doesNotMatch(logs.join('') + metrics.text(), /hunter2|cv_cluster_|sa-|eyJ/);
    });

    test('a dropped key goes, a new value arrives, and a Secret without a policy is pruned', async () => {
      const { coffer, secret, round } = await newCluster();
      coffer.state = stateOf(1, [DATABASE, { name: 'old', data: { a: '1' } }]);
      await round();
      coffer.state = stateOf(2, [{ name: 'database', data: { password: 'new' } }]);
      assert.equal(await round(), true);
      assert.deepEqual((await secret('shop', 'database'))?.data, { password: base64('new') });
      assert.equal(await secret('shop', 'old'), null);
      assert.deepEqual(coffer.states(), ['shop/database applied', 'shop/old pruned']);
    });

    test('a withheld Secret stays as it is', async () => {
      const { coffer, secret, round } = await newCluster();
      coffer.state = stateOf(1, [DATABASE, OTHER]);
      await round();
      const before = await secret('shop', 'database');
      coffer.state = stateOf(2, [OTHER], [{ namespace: 'shop', name: 'database', reason: 'access_lost' }]);
      assert.equal(await round(), true);
      assert.ok(before !== null);
      assert.deepEqual(await secret('shop', 'database'), before);
    });

    for (const [name, spoil] of Object.entries(doubtful)) {
      test(`nothing is changed or pruned after ${name}`, async () => {
        const { kube, coffer, secret, round, logs, newCalls } = await newCluster();
        coffer.state = stateOf(4, [DATABASE]);
        assert.equal(await round(), true, logs.join(''));
        const before = await secret('shop', 'database');
        spoil(coffer);
        const calls = (await kube.calls()).length;
        assert.equal(await round(), false);
        assert.deepEqual(await secret('shop', 'database'), before);
        assert.ok(!(await newCalls(calls)).some((call) => call.includes('secrets')), 'Secrets were touched');
        assert.equal(coffer.reports.length, 1);
        assert.doesNotMatch(logs.join(''), /hunter2/);
      });
    }

    test('an empty desired state prunes nothing, and says so', async () => {
      const { coffer, secret, round } = await newCluster();
      coffer.state = stateOf(1, [DATABASE]);
      await round();
      coffer.state = stateOf(2, []);
      assert.equal(await round(), false);
      assert.ok(await secret('shop', 'database'));
      assert.match(coffer.last()[0]?.message ?? '', /desired state is empty/);
    });

    test('a foreign change of our key is overwritten and reported; a foreign key stays and is reported', async () => {
      const { kube, coffer, secret, round } = await newCluster();
      coffer.state = stateOf(1, [DATABASE]);
      await round();
      const stored = (await secret('shop', 'database')) ?? assert.fail('it was not applied');
      const data = { ...stored.data, password: base64('theirs'), extra: base64('x') };
      await kube.edit('secrets', { ...stored, data });
      assert.equal(await round(), true);
      assert.equal(coffer.last()[0]?.message, 'a change by somebody else was overwritten');
      const whole = { user: base64('ada'), password: base64('hunter2'), extra: base64('x') };
      assert.deepEqual((await secret('shop', 'database'))?.data, whole);
      assert.equal(await round(), true);
      const message = 'keys that somebody else wrote: extra';
      assert.deepEqual(coffer.last()[0], {
        namespace: 'shop',
        secret_name: 'database',
        state: 'unchanged',
        message,
      });
    });

    test('a Secret that somebody else made is neither changed nor pruned', async () => {
      const { kube, coffer, secret, round } = await newCluster();
      await kube.edit('secrets', { metadata: { namespace: 'shop', name: 'database' }, data: { mine: base64('1') } });
      const labels = { [MANAGED_BY]: 'coffer', [CLUSTER_LABEL]: 'cluster_01b' };
      await kube.edit('secrets', { metadata: { namespace: 'shop', name: 'of-others', labels } });
      coffer.state = stateOf(1, [DATABASE, OTHER]);
      assert.equal(await round(), false);
      assert.deepEqual((await secret('shop', 'database'))?.data, { mine: base64('1') });
      assert.ok(await secret('shop', 'of-others'));
      assert.deepEqual(coffer.states(), ['shop/database failed', 'shop/x applied']);
      assert.match(coffer.last()[0]?.message ?? '', /does not own/);
    });

    test('another type: the Secret is made anew', async () => {
      const { coffer, secret, round } = await newCluster();
      coffer.state = stateOf(1, [DATABASE]);
      await round();
      const uid = (await secret('shop', 'database'))?.metadata.uid;
      coffer.state = stateOf(2, [{ ...DATABASE, type: 'example.com/login' }]);
      assert.equal(await round(), true);
      const made = await secret('shop', 'database');
      assert.equal(made?.type, 'example.com/login');
      assert.notEqual(made?.metadata.uid, uid);
    });

    test('a type whose keys are missing fails alone', async () => {
      const { coffer, secret, round } = await newCluster();
      coffer.state = stateOf(1, [{ name: 'tls', type: 'kubernetes.io/tls', data: { a: 'b' } }, OTHER]);
      assert.equal(await round(), false);
      assert.deepEqual(coffer.states(), ['shop/tls failed', 'shop/x applied']);
      assert.match(coffer.last()[0]?.message ?? '', /Kubernetes refuses this Secret/);
      assert.equal(await secret('shop', 'tls'), null);
    });

    test('a namespace that is missing, foreign or forbidden fails alone, and works once it is there', async () => {
      const all = { CV_NAMESPACES: 'shop,later,closed' };
      const { kube, coffer, round, newCalls } = await newCluster(['shop'], all);
      await kube.addNamespace('closed', 'none');
      const since = (await kube.calls()).length;
      const data = { a: 'b' };
      coffer.state = stateOf(1, [
        { namespace: 'closed', name: 'x', data },
        { namespace: 'kube-system', name: 'x', data },
        { namespace: 'later', name: 'x', data },
        { name: 'x', data },
      ]);
      assert.equal(await round(), false);
      const failed = ['closed/x failed', 'kube-system/x failed'];
      assert.deepEqual(coffer.states(), [...failed, 'later/x failed', 'shop/x applied']);
      assert.ok(!(await newCalls(since)).some((call) => call.includes('kube-system')));
      await kube.addNamespace('later');
      await round();
      assert.deepEqual(coffer.states().toSorted(), [...failed, 'later/x applied', 'shop/x unchanged']);
    });

    test('a Secret that is too large fails alone, and its value is in no message', async () => {
      const { coffer, round, logs } = await newCluster();
      coffer.state = stateOf(1, [{ name: 'large', data: { a: 'z'.repeat(1_048_577) } }, DATABASE]);
      assert.equal(await round(), false);
      assert.deepEqual(coffer.states(), ['shop/large failed', 'shop/database applied']);
      assert.doesNotMatch(JSON.stringify(coffer.reports) + logs.join(''), /zzzz|enp6/);
    });

    test('1,000 Secrets: applied once, then only listed', async () => {
      const { kube, coffer, round, newCalls } = await newCluster();
      const thousand = Array.from({ length: 1000 }, (_, i) => ({ name: `s${i}`, data: { value: `v${i}` } }));
      coffer.state = stateOf(1, thousand);
      assert.equal(await round(), true);
      assert.equal(coffer.last().filter(({ state }) => state === 'applied').length, 1000);
      const since = (await kube.calls()).length;
      assert.equal(await round(), true);
      assert.equal(coffer.last().filter(({ state }) => state === 'unchanged').length, 1000);
      const calls = await newCalls(since);
      assert.ok(calls.length > 0 && calls.length < 15, `${calls.length} calls`);
    });

    test('a Kubernetes token that was revoked changes nothing; a new one in the file is used', async () => {
      const { kube, coffer, secret, round, logs } = await newCluster();
      coffer.state = stateOf(1, [DATABASE]);
      assert.equal(await round(), true, logs.join(''));
      await kube.revokeToken();
      const deadline = Date.now() + REVOKED_WITHIN_MS;
      while (await round()) assert.ok(Date.now() < deadline, 'the token is still accepted');
      assert.match(logs.at(-1) ?? '', /401 Unauthorized/);
      coffer.state = stateOf(2, [{ ...DATABASE, data: { user: 'eve' } }]);
      assert.equal(await round(), false);
      assert.deepEqual((await secret('shop', 'database'))?.data?.['user'], base64('ada'));
      await kube.renewToken();
      assert.equal(await round(), true, logs.join(''));
      assert.deepEqual((await secret('shop', 'database'))?.data, { user: base64('eve') });
      assert.doesNotMatch(logs.join(''), /sa-|eyJ/);
    });

    test('Deployments that ask for it are restarted when their Secret changed, and only then', async () => {
      const { kube, coffer, round } = await newCluster(['shop'], { CV_RESTART_DEPLOYMENTS: 'true' });
      const deployment = (name: string, annotations: Record<string, string>) => {
        const labels = { app: name };
        const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'none' }] } };
        const spec = { replicas: 2, selector: { matchLabels: labels }, template };
        return kube.edit('deployments', { metadata: { namespace: 'shop', name, annotations }, spec });
      };
      await deployment('api', { [RESTART_ON]: 'other, database' });
      await deployment('web', {});
      const annotationOf = async (name: string) => {
        const { spec } = (await kube.find('deployments', 'shop', name)) ?? assert.fail(`${name} is not there`);
        assert.equal(spec?.['replicas'], 2);
        const template = spec?.['template'] as { metadata: { annotations?: Record<string, string> } };
        return template.metadata.annotations?.[RESTARTED_FOR];
      };
      coffer.state = stateOf(1, [DATABASE]);
      assert.equal(await round(), true);
      const first = await annotationOf('api');
      assert.match(first ?? '', /^[0-9a-f]{64}$/);
      assert.equal(await annotationOf('web'), undefined);
      await round();
      assert.equal(await annotationOf('api'), first);
      coffer.state = stateOf(2, [{ name: 'database', data: { password: 'new' } }]);
      await round();
      assert.notEqual(await annotationOf('api'), first);
    });

    test('one of two replicas works; when it stops, the other one takes over at once', async () => {
      const { kube, coffer, make } = await newCluster();
      coffer.state = stateOf(1, [DATABASE]);
      const holder = async () => (await kube.find('leases', 'coffer', 'coffer-operator'))?.spec?.['holderIdentity'];
      const stops = [new AbortController(), new AbortController()] as const;
      closing.push(...stops.map((stop) => () => stop.abort()));
      const first = make('pod-1', [], stops[0].signal).operator.run();
      await until('the operator does not report', async () => coffer.reports.length === 1);
      assert.equal(await holder(), 'pod-1');
      const second = make('pod-2', [], stops[1].signal).operator.run();
      // The leader writes the Lease each time that it has read it, and the other one only reads it.
      const onlyRead = async () => {
        const calls = (await kube.calls()).filter((call) => call.endsWith('/leases/coffer-operator'));
        return calls.filter((call) => call.startsWith('GET ')).length * 2 - calls.length;
      };
      const before = await onlyRead();
      await until('the other one does not read the Lease', async () => (await onlyRead()) >= before + 3);
      assert.equal(await holder(), 'pod-1', 'the Lease of a living leader is not taken');
      assert.equal(coffer.reports.length, 1);
      stops[0].abort();
      assert.equal(await first, true);
      await until(
        'the operator does not report',
        async () => (await holder()) === 'pod-2' && coffer.reports.length === 2,
      );
      stops[1].abort();
      await second;
      assert.equal((await holder()) ?? '', '', 'the Lease was given back');
    });

    test('while the API server restarts nothing is lost, and the operator goes on', async () => {
      const { kube, coffer, secret, make, logs } = await newCluster();
      coffer.state = stateOf(1, [DATABASE]);
      const stop = new AbortController();
      closing.push(() => stop.abort());
      const running = make('pod-1', [], stop.signal).operator.run();
      await until('the operator does not report', () => coffer.reports.length === 1);
      const before = await secret('shop', 'database');
      await kube.stop();
      coffer.state = stateOf(2, [DATABASE, OTHER]);
      const isRoundLost = (line: string) => line.includes('no answer') && !line.includes('Lease');
      await until('no round fails', () => logs.some(isRoundLost));
      assert.equal(coffer.reports.length, 1, 'nothing was reported that could not be done');
      await kube.start();
      // A real one may refuse for a moment after its start, until it has read its Roles.
      await until('the operator does not report', () => coffer.states().includes('shop/x applied'));
      stop.abort();
      await running;
      assert.deepEqual(await secret('shop', 'database'), before);
      assert.ok(await secret('shop', 'x'));
      assert.match(logs.join(''), /no answer/);
    });
  });
}
