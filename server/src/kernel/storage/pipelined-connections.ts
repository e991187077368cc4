import type pg from 'pg';
import { FairQueue, type FairQueueLimits } from '../fairness/fair-queue.ts';
import { PostgresLane } from './postgres-lane.ts';

interface Connection {
  lane: PostgresLane;
  underWay: number;
}

/**
 * Several pipelined connections that tenants share. A statement waits for all that were sent before it on its connection, so only so many are sent
 * ahead: beyond that tenants take turns.
 */
export class PipelinedConnections {
  readonly #connections: Connection[];
  readonly #queue: FairQueue;

  constructor(settings: pg.ClientConfig, count: number, limits: FairQueueLimits) {
    this.#connections = Array.from({ length: count }, () => ({ lane: new PostgresLane(settings), underWay: 0 }));
    this.#queue = new FairQueue(limits);
  }

  query(tenantId: string, sql: string, parameters: unknown[]): Promise<pg.QueryResult> {
    return this.#send(tenantId, (lane) => lane.query(sql, parameters));
  }

  queryPrepared(tenantId: string, sql: string, parameters: unknown[]): Promise<pg.QueryResult> {
    return this.#send(tenantId, (lane) => lane.queryPrepared(sql, parameters));
  }

  async #send(tenantId: string, send: (lane: PostgresLane) => Promise<pg.QueryResult>): Promise<pg.QueryResult> {
    const entering = this.#queue.enter(tenantId);
    if (entering !== undefined) await entering;
    const connection = this.#leastBusy();
    connection.underWay++;
    try {
      return await send(connection.lane);
    } finally {
      connection.underWay--;
      this.#queue.leave(tenantId);
    }
  }

  #leastBusy(): Connection {
    return this.#connections.reduce((best, other) => (other.underWay < best.underWay ? other : best));
  }

  async close(): Promise<void> {
    await Promise.all(this.#connections.map(({ lane }) => lane.close()));
  }
}
