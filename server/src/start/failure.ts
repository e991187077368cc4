import pg from 'pg';
import { StartError } from '../kernel/base/data-folder.ts';
import { CofferError } from '../kernel/base/errors.ts';
import { SealError } from '../kernel/seals/provider.ts';
import { adviceFor } from '../kernel/storage/advice.ts';
import { ConfigError } from '../settings/config.ts';

/** Operators get a sentence that says what to do; only a bug in Coffer shows its stack trace. */
export function explainFailure(error: unknown): string {
  if (error instanceof ConfigError || error instanceof StartError || error instanceof SealError) return error.message;
  const advice = adviceFor(error);
  if (advice !== null) return advice;
  if (error instanceof CofferError) return error.message;
  const { code, message, stack, syscall, path } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') return 'The address is in use: stop the other program, or set CV_PORT to another port.';
  if (code === 'EADDRNOTAVAIL') return 'The address does not belong to this machine: set CV_HOST to one that does.';
  if (code === 'EACCES' && syscall === 'listen') {
    return 'This user may not listen on the port: set CV_PORT to a port above 1023, or put a proxy in front.';
  }
  if (syscall !== undefined && path !== undefined) {
    return `The file or folder ${path} cannot be used (${code}). Check that it exists, who owns it, and that the disk has free space.`;
  }
  if (error instanceof pg.DatabaseError)
    return `PostgreSQL returned an error (${code}): ${firstLine(message)}. Check CV_DATABASE_URL.`;
  if (code === 'ERR_SQLITE_ERROR') {
    return `The database in the data folder cannot be used: ${firstLine(message)}. Check the disk, or restore a backup.`;
  }
  if (code?.startsWith('ERR_OSSL') === true || code?.startsWith('ERR_TLS') === true) {
    return `The certificate or key for TLS cannot be used (${code}). Check CV_TLS_CERT_FILE and CV_TLS_KEY_FILE.`;
  }
  return stack ?? message;
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}
