import { loadConfig } from '../assembly/settings.ts';
import { StartError } from '../kernel/base/data-folder.ts';
import { CofferError } from '../kernel/base/errors.ts';
import { createLogger } from '../kernel/observability/log.ts';
import { Supervisor } from './supervisor.ts';
import { Worker } from './worker.ts';

try {
  const config = loadConfig(process.env);
  const log = createLogger({ level: config.logLevel, format: config.logFormat, ownErrors: [CofferError, StartError] });
  const worker = Worker.current(process.env);
  if (worker === null) {
    const { refuseTakenAddress } = await import('./free-address.ts');
    await refuseTakenAddress(config);
  }
  if (config.workers > 1 && worker === null) new Supervisor(config, log).start();
  else {
    // The supervisor does not load the service, which takes more than a hundred megabytes.
    const { serveRequests } = await import('./serve-requests.ts');
    await serveRequests(config, log, worker, process.env);
  }
} catch (error) {
  const { explainFailure } = await import('./failure.ts');
  process.stderr.write(`Coffer cannot start. ${explainFailure(error)}\n`);
  process.exit(1);
}
