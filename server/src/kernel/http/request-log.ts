import type { ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { RequestLogConfig } from '../../settings/observability-settings.ts';

/** What is logged about a request. The route has the names of parameters and not their values, which may name secrets. */
export interface LoggedRequest {
  request_id: string;
  method: string;
  /** Null if no endpoint was found. */
  route: string | null;
  address: string;
}

/** Logs slow requests and, if it is turned on, every request. Who sent one, and what it was about, is in the audit log under its id. */
export class RequestLog {
  readonly #config: RequestLogConfig;
  readonly #log: Logger;

  constructor(config: RequestLogConfig, log: Logger) {
    this.#config = config;
    this.#log = log;
  }

  /** Called when the response is known, before it is sent. */
  answered(request: LoggedRequest, status: number, durationMs: number): void {
    const { slowRequestMs } = this.#config;
    if (slowRequestMs === 0 || durationMs <= slowRequestMs) return;
    this.#log.warn({ ...request, status, duration_ms: Math.round(durationMs) }, 'a request was slow');
  }

  /** Called when the request arrives. The line is written when the last byte of the response is sent, or the connection is gone. */
  arrived(request: LoggedRequest, response: ServerResponse): void {
    if (!this.#config.isAccessLogOn) return;
    const started = performance.now();
    response.once('close', () => {
      const duration_ms = Math.round(performance.now() - started);
      const isCutOff = !response.writableFinished;
      const outcome = { status: response.statusCode, duration_ms, ...(isCutOff && { is_cut_off: true }) };
      this.#log.info({ ...request, ...outcome }, 'request');
    });
  }
}
