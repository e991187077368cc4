import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import { hardenProcess } from './start/process-hardening.ts';

hardenProcess();
// The umask is set before any file is created: a kill between creating a file and setting its mode would leave it readable by others.
process.umask(0o077);
// The compile cache halves the start time. It lies beside the code, where only users who may change the code can write, and never in a folder that
// others can write to. Where it cannot be written, only the time is lost.
enableCompileCache(join(import.meta.dirname, '../../node_modules/.cache/coffer'));
await import('./start/serve.ts');
