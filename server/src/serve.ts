import { createLogger } from './kernel/observability/log.ts';
import { loadConfig } from './kernel/platform/config.ts';
import { CofferError } from './kernel/platform/errors.ts';
import { StartError } from './kernel/storage/data-folder.ts';
import { Supervisor } from './workers/supervisor.ts';
import { Worker } from './workers/worker.ts';

try {
  const config = loadConfig(process.env);
  const log = createLogger({ level: config.logLevel, format: config.logFormat, ownErrors: [CofferError, StartError] });
  const worker = Worker.current(process.env);
  if (config.workers > 1 && worker === null) new Supervisor(config, log).start();
  else {
    // The supervisor does not load the service, which takes more than a hundred megabytes.
    const { serveRequests } = await import('./serve-requests.ts');
    await serveRequests(config, log, worker, process.env);
  }
} catch (error) {
  const { explainFailure } = await import('./operator/failure.ts');
  process.stderr.write(`Coffer cannot start. ${explainFailure(error)}\n`);
  process.exit(1);
}
