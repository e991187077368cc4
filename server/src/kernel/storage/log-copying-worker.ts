import { DatabaseSync } from 'node:sqlite';
import { workerData } from 'node:worker_threads';

/** The thread of `LogCopying`. The connection of the service stays open meanwhile, so that closing this one leaves the WAL where it is. */
const database = new DatabaseSync(String(workerData));
try {
  database.exec('pragma wal_checkpoint(passive)');
} finally {
  database.close();
}
