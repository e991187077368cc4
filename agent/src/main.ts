import { listenForProbes, OperatorMetrics } from './cluster/metrics.ts';
import { Operator } from './cluster/operator.ts';
import { CofferClient } from './coffer-client.ts';
import { runEndpointAgent } from './endpoint/endpoint-agent.ts';
import { scanHost } from './endpoint/scan.ts';
import { newLog } from './log.ts';
import { readSettings, type Settings, SettingsError, USAGE } from './settings.ts';

const EXIT_FAILED = 1;
const EXIT_SETTINGS = 2;

const log = newLog();
const stop = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort());
process.exitCode = await start();

async function start(): Promise<number> {
  let settings: Settings | 'help';
  try {
    settings = readSettings(process.argv.slice(2), process.env);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    log.error(error.message);
    return EXIT_SETTINGS;
  }
  if (settings === 'help') {
    process.stdout.write(USAGE);
    return 0;
  }
  return (await run(settings)) || stop.signal.aborted ? 0 : EXIT_FAILED;
}

async function run(settings: Settings): Promise<boolean> {
  if (settings.isDryRun) {
    const { report } = scanHost({ root: settings.root, clusterId: settings.clusterId, now: new Date() });
    process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
    return true;
  }
  if (settings.mode === 'cluster') return runOperator(settings);
  const client = new CofferClient(settings);
  return runEndpointAgent({ settings, client, log, signal: stop.signal });
}

async function runOperator(settings: Settings): Promise<boolean> {
  const metrics = new OperatorMetrics(settings.intervalSeconds);
  const { port } = settings.operator;
  const probes = port === 0 || settings.isOnce ? null : await listenForProbes(metrics, port);
  const isDone = await new Operator({ settings, log, metrics, signal: stop.signal }).run();
  probes?.close();
  probes?.closeAllConnections();
  return isDone;
}
