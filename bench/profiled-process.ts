import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';

/** The service as it is, with a profiler of its main thread that begins and ends when the parent says so. */
const INTERVAL_MICROS = 200;
const session = new Session();
session.connect();

process.on('message', async (file: string | null) => {
  if (file === null) {
    await session.post('Profiler.enable');
    await session.post('Profiler.setSamplingInterval', { interval: INTERVAL_MICROS });
    await session.post('Profiler.start');
  } else {
    const { profile } = await session.post('Profiler.stop');
    writeFileSync(file, JSON.stringify(profile));
  }
  process.send?.('done');
});

// Nobody is left to end it.
process.once('disconnect', () => process.exit(1));
await import('../server/src/main.ts');
