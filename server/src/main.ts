import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import { hardenProcess } from './kernel/process-hardening.ts';

hardenProcess();
// Before any file is made: a kill between making one and setting its mode would leave it readable by others.
process.umask(0o077);
// What was compiled by an earlier start is not compiled again, which halves the time it takes. It is kept beside the code, by whoever may change
// that, and never in a folder that others can write to. Where it cannot be kept, nothing is lost but the time.
enableCompileCache(join(import.meta.dirname, '../../node_modules/.cache/coffer'));
await import('./serve.ts');
