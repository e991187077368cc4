import type pg from 'pg';
import { FairQueue, type FairQueueLimits } from '../fairness/fair-queue.ts';
import { PipelinedConnection, type ServerChoice, type SessionConfig } from './pipelined-connection.ts';

interface Shared {
  connection: PipelinedConnection;
  /** Statements sent on it that have no response yet. */
  pending: number;
}

/**
 * Several pipelined connections that tenants share. A statement waits for all statements sent before it on its connection, so the number sent ahead
 * is limited: beyond it, tenants take turns.
 */
export class PipelinedConnections {
  readonly #connections: Shared[];
  readonly queue: FairQueue;

  constructor(settings: SessionConfig, count: number, limits: FairQueueLimits, server: ServerChoice) {
    this.#connections = Array.from({ length: count }, () => ({
      connection: new PipelinedConnection(settings, server),
      pending: 0,
    }));
    this.queue = new FairQueue(limits);
  }

  query(tenantId: string, sql: string, parameters: unknown[]): Promise<pg.QueryResult> {
    return this.#send(tenantId, (connection) => connection.query(sql, parameters));
  }

  queryPrepared(tenantId: string, sql: string, parameters: unknown[]): Promise<pg.QueryResult> {
    return this.#send(tenantId, (connection) => connection.queryPrepared(sql, parameters));
  }

  async #send(
    tenantId: string,
    send: (connection: PipelinedConnection) => Promise<pg.QueryResult>,
  ): Promise<pg.QueryResult> {
    const entering = this.queue.enter(tenantId);
    if (entering !== undefined) await entering;
    const shared = this.#leastBusy();
    shared.pending++;
    try {
      return await send(shared.connection);
    } finally {
      shared.pending--;
      this.queue.leave(tenantId);
    }
  }

  #leastBusy(): Shared {
    return this.#connections.reduce((best, other) => (other.pending < best.pending ? other : best));
  }

  renew(): void {
    for (const { connection } of this.#connections) connection.renew();
  }

  async close(): Promise<void> {
    await Promise.all(this.#connections.map(({ connection }) => connection.close()));
  }
}
