import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Unavailable } from '../cluster/go-programs.ts';
import { KubeApiServer } from '../cluster/kube-apiserver.ts';
import { linted, MINIMAL, POSTGRES, type Rendered, rendered, type Values } from './server-chart.ts';

/** The chart of the service: rendered by Helm, and applied to a real kube-apiserver that refuses fields it does not know. */

const PATHS: Readonly<Record<string, string>> = {
  ServiceAccount: '/api/v1/namespaces/coffer/serviceaccounts',
  Service: '/api/v1/namespaces/coffer/services',
  PersistentVolumeClaim: '/api/v1/namespaces/coffer/persistentvolumeclaims',
  Deployment: '/apis/apps/v1/namespaces/coffer/deployments',
  PodDisruptionBudget: '/apis/policy/v1/namespaces/coffer/poddisruptionbudgets',
  CronJob: '/apis/batch/v1/namespaces/coffer/cronjobs',
  NetworkPolicy: '/apis/networking.k8s.io/v1/namespaces/coffer/networkpolicies',
};
/** Kinds of the Prometheus operator, whose definitions this API server does not have. */
const FOREIGN = ['ServiceMonitor', 'PrometheusRule'];
const APPLY = '?fieldManager=helm&force=true&fieldValidation=Strict';
const EVERYTHING: Values = {
  ...POSTGRES,
  replicas: 3,
  audience: 'https://audience.example.com',
  'image.digest': `sha256:${'a'.repeat(64)}`,
  'image.pullSecrets': [{ name: 'registry' }],
  'tls.existingSecret': 'coffer-tls',
  'service.type': 'LoadBalancer',
  'service.annotations': { 'example.com/internal': 'true' },
  settings: { CV_WORKERS: 'auto', CV_TRUSTED_PROXIES: '10.0.0.0/8', CV_SLOW_REQUEST_MS: 1000 },
  secretSettings: [{ name: 'CV_SMTP_URL', existingSecret: 'mail', key: 'url' }],
  drainSeconds: 20,
  'checkpoints.existingClaim': 'checkpoints',
  'backup.existingClaim': 'backups',
  'networkPolicy.ingressFrom': [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress' } } }],
  'networkPolicy.databaseTo': [{ ipBlock: { cidr: '10.1.2.3/32' } }],
  'networkPolicy.extraEgress': [{ ports: [{ port: 587, protocol: 'TCP' }] }],
  'serviceMonitor.enabled': true,
  'serviceMonitor.tokenSecret': 'coffer-metrics',
  'serviceMonitor.labels': { release: 'prometheus' },
  'prometheusRule.enabled': true,
  podAnnotations: { 'example.com/a': 'b' },
  podLabels: { team: 'platform' },
  nodeSelector: { 'kubernetes.io/os': 'linux' },
  tolerations: [{ key: 'dedicated', operator: 'Exists' }],
  priorityClassName: 'system-cluster-critical',
};

const server = await KubeApiServer.start().catch((error: unknown) => {
  if (!(error instanceof Unavailable)) throw error;
  return error.message;
});

interface Container {
  env: { name: string; value?: string }[];
  volumeMounts: { name: string; mountPath: string }[];
  [field: string]: unknown;
}
interface PodSpec {
  containers: [Container];
  volumes: Record<string, unknown>[];
  terminationGracePeriodSeconds: number;
  [field: string]: unknown;
}

if (typeof server === 'string') test('a real kube-apiserver', (t) => t.skip(server));
else describe('the chart', () => testChart(server));

function testChart(api: KubeApiServer): void {
  before(async () => {
    const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'coffer', labels } };
    await api.must('POST', '/api/v1/namespaces', namespace);
  });
  after(() => api.close());

  async function applied(values: Values): Promise<Map<string, Record<string, unknown>>> {
    const objects = new Map<string, Record<string, unknown>>();
    for (const { kind, name, text } of (await rendered(values)).filter((each) => !FOREIGN.includes(each.kind))) {
      const path = PATHS[kind] ?? assert.fail(`a ${kind} is not expected`);
      const { body } = await api.must(
        'PATCH',
        `${path}/${name}${APPLY}&dryRun=All`,
        text,
        'application/apply-patch+yaml',
      );
      objects.set(kind, body);
    }
    return objects;
  }

  interface Template {
    metadata: { labels: Record<string, string> };
    spec: PodSpec;
  }

  async function backupOf(
    values: Values,
  ): Promise<{ schedule: string; timeZone: string; concurrencyPolicy: string; template: Template }> {
    const { spec } = (await applied(values)).get('CronJob') as {
      spec: {
        schedule: string;
        timeZone: string;
        concurrencyPolicy: string;
        jobTemplate: { spec: { template: Template } };
      };
    };
    return { ...spec, template: spec.jobTemplate.spec.template };
  }

  async function podOf(values: Values): Promise<PodSpec> {
    const deployment = (await applied(values)).get('Deployment') as { spec: { template: { spec: PodSpec } } };
    return deployment.spec.template.spec;
  }
  const envOf = (pod: PodSpec) => Object.fromEntries(pod.containers[0].env.map(({ name, value }) => [name, value]));

  for (const [what, values, kinds] of [
    ['SQLite', MINIMAL, ['Deployment', 'NetworkPolicy', 'PersistentVolumeClaim', 'Service', 'ServiceAccount']],
    [
      'a claim that exists',
      { ...MINIMAL, 'persistence.existingClaim': 'mine' },
      ['Deployment', 'NetworkPolicy', 'Service', 'ServiceAccount'],
    ],
    ['PostgreSQL', POSTGRES, ['Deployment', 'NetworkPolicy', 'Service', 'ServiceAccount']],
    [
      'a root key as a variable',
      { ...POSTGRES, 'rootKey.kind': 'key', 'rootKey.key': 'key' },
      ['Deployment', 'NetworkPolicy', 'Service', 'ServiceAccount'],
    ],
    [
      'everything',
      EVERYTHING,
      ['CronJob', 'Deployment', 'NetworkPolicy', 'PodDisruptionBudget', 'Service', 'ServiceAccount'],
    ],
    [
      'no policies',
      { ...EVERYTHING, 'networkPolicy.enabled': false, 'podDisruptionBudget.enabled': false },
      ['CronJob', 'Deployment', 'Service', 'ServiceAccount'],
    ],
    [
      'SQLite and backups',
      { ...MINIMAL, 'backup.existingClaim': 'backups' },
      ['CronJob', 'Deployment', 'NetworkPolicy', 'PersistentVolumeClaim', 'Service', 'ServiceAccount'],
    ],
  ] as [string, Values, string[]][]) {
    test(`with ${what}: Helm has nothing to say, and the API server knows every field`, async () => {
      assert.match(await linted(values), /0 chart\(s\) failed/);
      assert.deepEqual([...(await applied(values)).keys()].sort(), kinds);
    });
  }

  test('its pods pass the strictest profile of Kubernetes, which is enforced', async () => {
    const backup = (await backupOf(EVERYTHING)).template.spec;
    for (const each of [await podOf(MINIMAL), await podOf(EVERYTHING), backup]) {
      const spec = { ...each, priorityClassName: undefined };
      const pod = (change: object) => ({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'one', namespace: 'coffer' },
        spec: { ...spec, ...change },
      });
      const create = (change: object) => api.send('POST', '/api/v1/namespaces/coffer/pods?dryRun=All', pod(change));
      const accepted = await create({});
      assert.equal(accepted.status, 201, JSON.stringify(accepted.body));
      const refused = await create({ securityContext: {} });
      assert.equal(refused.status, 403);
      assert.match(JSON.stringify(refused.body), /violates PodSecurity/);
    }
  });

  test('the file system is read-only but for its folders, and data is not opened for a group', async () => {
    const { containers, securityContext, volumes } = await podOf(MINIMAL);
    const { readOnlyRootFilesystem } = containers[0]['securityContext'] as Record<string, unknown>;
    assert.equal(readOnlyRootFilesystem, true);
    assert.equal((securityContext as Record<string, unknown>)['fsGroupChangePolicy'], 'OnRootMismatch');
    assert.ok(volumes.some((volume) => 'persistentVolumeClaim' in volume));
    const paths = containers[0].volumeMounts.map(({ mountPath }) => mountPath);
    assert.deepEqual(paths.sort(), ['/etc/coffer/root-key', '/tmp', '/var/lib/coffer']);
  });

  test('a pod has the time that it needs to end', async () => {
    for (const drain of [0, 5, 300]) {
      const pod = await podOf({ ...MINIMAL, drainSeconds: drain });
      assert.ok(pod.terminationGracePeriodSeconds >= drain + 30);
      assert.equal(envOf(pod)['CV_DRAIN_SECONDS'], `${drain}`);
    }
    assert.equal((await podOf({ ...MINIMAL, terminationGracePeriodSeconds: 35 })).terminationGracePeriodSeconds, 35);
  });

  test('secrets come from Secrets that exist: as files, and the chart makes none', async () => {
    const pod = await podOf(EVERYTHING);
    const env = envOf(pod);
    const mounts = pod.containers[0].volumeMounts;
    const files = Object.entries(env).filter(([name]) => name.endsWith('_FILE'));
    assert.deepEqual(files.map(([name]) => name).sort(), [
      'CV_DATABASE_URL_FILE',
      'CV_ROOT_PASSPHRASE_FILE',
      'CV_SMTP_URL_FILE',
      'CV_TLS_CERT_FILE',
      'CV_TLS_KEY_FILE',
    ]);
    for (const [name, file = ''] of files) {
      assert.ok(
        mounts.some(({ mountPath }) => file.startsWith(`${mountPath}/`)),
        name,
      );
    }
    assert.ok(mounts.some(({ mountPath }) => mountPath === env['CV_CHECKPOINT_DIR']));
    const secrets = pod.volumes.flatMap((volume) => (volume['secret'] as { secretName: string })?.secretName ?? []);
    assert.deepEqual(secrets.sort(), ['coffer-database', 'coffer-root', 'coffer-tls', 'mail']);
    for (const values of [MINIMAL, EVERYTHING]) {
      assert.ok((await rendered(values)).every(({ kind }) => kind !== 'Secret' && kind !== 'ConfigMap'));
    }
  });

  test('a backup opens the installation as the service does, and gets none of its requests', async () => {
    const keep = { 'backup.schedule': '30 1 * * 1-5', 'backup.keep': 30 };
    for (const values of [{ ...MINIMAL, 'backup.existingClaim': 'backups' }, EVERYTHING]) {
      const { schedule, timeZone, concurrencyPolicy, template } = await backupOf({ ...values, ...keep });
      assert.deepEqual([schedule, timeZone, concurrencyPolicy], ['30 1 * * 1-5', 'Etc/UTC', 'Forbid']);
      const { containers, volumes } = template.spec;
      const { command, image, volumeMounts } = containers[0];
      assert.deepEqual((command as string[]).slice(3), ['server', 'backup', '/var/lib/coffer-backups', '--keep', '30']);
      const service = await podOf(values);
      assert.equal(image, service.containers[0]['image']);
      const own = envOf(template.spec);
      const names = ['CV_DATA_DIR', 'CV_DATABASE_URL_FILE', 'CV_ROOT_KEY_PROVIDER', 'CV_ROOT_PASSPHRASE_FILE'];
      const ofService = envOf(service);
      assert.deepEqual(
        own,
        Object.fromEntries(names.flatMap((name) => (name in ofService ? [[name, ofService[name]]] : []))),
      );
      const mounted = volumeMounts.map(({ name }) => name);
      assert.deepEqual(mounted.toSorted(), volumes.map(({ name }) => name as string).toSorted());
      assert.ok(JSON.stringify(volumes).includes('"persistentVolumeClaim":{"claimName":"backups"}'));
      const selector = { 'app.kubernetes.io/name': 'coffer', 'app.kubernetes.io/instance': 'prod' };
      assert.notDeepEqual({ ...template.metadata.labels, ...selector }, template.metadata.labels);
      const affinity = JSON.stringify(template.spec['affinity'] ?? {});
      assert.equal(affinity.includes('kubernetes.io/hostname'), !('database.existingSecret' in values));
    }
  });

  test('probes ask by https where the port speaks it', async () => {
    for (const [values, scheme] of [
      [MINIMAL, 'HTTP'],
      [EVERYTHING, 'HTTPS'],
    ] as const) {
      const [container] = (await podOf(values)).containers;
      for (const [probe, path] of [
        ['startupProbe', '/health'],
        ['livenessProbe', '/health'],
        ['readinessProbe', '/health/ready'],
      ] as const) {
        const { httpGet } = container[probe] as { httpGet: Record<string, unknown> };
        assert.deepEqual(httpGet, { path, port: 'http', scheme }, probe);
      }
    }
  });

  test('the alerts and the scrape job are those of deploy/prometheus', async () => {
    const find = (all: Rendered[], kind: string) => all.find((each) => each.kind === kind)?.text ?? assert.fail(kind);
    const all = await rendered(EVERYTHING);
    const rule = find(all, 'PrometheusRule');
    assert.match(rule, /alert: CofferDown\n/);
    const elsewhere = await rendered({ ...EVERYTHING, baseUrl: 'https://vault.corp.example' });
    const links = [...find(elsewhere, 'PrometheusRule').matchAll(/runbook_url: (\S+)/g)].map(([, link]) => link);
    assert.ok(links.length > 20);
    for (const link of links)
      assert.match(String(link), /^https:\/\/vault\.corp\.example\/docs\/guide\/operations#coffer/);
    assert.match(rule, /\{\{ \$labels\.instance \}\}/);
    const monitor = find(all, 'ServiceMonitor');
    assert.match(monitor, /jobLabel: app\.kubernetes\.io\/name/);
    assert.match(monitor, /name: coffer-metrics\n\s+key: token/);
    assert.match(monitor, /serverName: coffer\.example\.com/);
  });

  for (const [what, values, says] of [
    ['no URL', { ...MINIMAL, baseUrl: '' }, /baseUrl: set the URL/],
    ['no image', { ...MINIMAL, 'image.repository': '' }, /image\.repository: set/],
    ['no root key', { ...MINIMAL, 'rootKey.existingSecret': '' }, /rootKey\.existingSecret: name a Secret/],
    ['two nodes on SQLite', { ...MINIMAL, replicas: 2 }, /replicas: SQLite has one node/],
    ['workers on SQLite', { ...MINIMAL, settings: { CV_WORKERS: 4 } }, /CV_WORKERS: SQLite has one process/],
    [
      'too short a grace period',
      { ...MINIMAL, drainSeconds: 60, terminationGracePeriodSeconds: 60 },
      /or to 90 or more/,
    ],
    [
      'a secret among the settings',
      { ...MINIMAL, settings: { CV_SMTP_URL: 'smtps://u:p@h' } },
      /CV_SMTP_URL: it is a secret/,
    ],
    ['a setting that the chart makes', { ...MINIMAL, settings: { CV_PORT: 80 } }, /CV_PORT: the chart sets it/],
    [
      'a secret setting that the chart makes',
      { ...MINIMAL, secretSettings: [{ name: 'CV_ROOT_KEY', existingSecret: 'x', key: 'y' }] },
      /the chart sets CV_ROOT_KEY/,
    ],
    ['a misspelt value', { ...MINIMAL, replica: 2 }, /replica/],
    ['a misspelt part of a value', { ...MINIMAL, 'database.existingsecret': 'x' }, /existingsecret/],
    ['a setting of another program', { ...MINIMAL, settings: { PATH: '/x' } }, /PATH|propertyNames|pattern/],
    ['too long a drain', { ...MINIMAL, drainSeconds: 301 }, /drainSeconds/],
    [
      'a backup of a volume that one pod may mount',
      { ...MINIMAL, 'backup.existingClaim': 'backups', 'persistence.accessMode': 'ReadWriteOncePod' },
      /persistence\.accessMode to ReadWriteOnce/,
    ],
    ['a schedule that is none', { ...MINIMAL, 'backup.schedule': 'nightly' }, /schedule/],
    ['metrics without a token', { ...MINIMAL, 'serviceMonitor.enabled': true }, /serviceMonitor\.tokenSecret/],
  ] as [string, Values, RegExp][]) {
    test(`refuses ${what}, and shows no value of it`, async () => {
      await assert.rejects(rendered(values), (error: Error & { stderr: string }) => {
        assert.match(error.stderr, says);
        assert.doesNotMatch(error.stderr, /u:p@h/);
        return true;
      });
    });
  }
}
