import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { freePort } from './ports.ts';
import { RunningProgram } from './running-program.ts';
import { until } from './until.ts';

const ROOT_TOKEN = 'root-of-a-test';

/** The program `bao`, if one is installed. */
export function findOpenBao(): string | null {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return folders.map((folder) => join(folder, 'bao')).find((file) => existsSync(file)) ?? null;
}

export interface OpenBao {
  url: string;
  /** Sends as its root, and fails unless it is done. */
  call(
    method: string,
    path: string,
    body?: object | string,
  ): Promise<{ data?: unknown; auth?: { client_token: string } } | null>;
}

/** An OpenBao in memory, which ends with the tests of the file. */
export async function startOpenBao(program: string): Promise<OpenBao> {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'coffer-openbao-'));
  const args = ['server', '-dev', '-dev-no-store-token', `-dev-listen-address=127.0.0.1:${port}`];
  const env = { PATH: process.env['PATH'] ?? '', HOME: folder, BAO_DEV_ROOT_TOKEN_ID: ROOT_TOKEN };
  new RunningProgram(folder, program, args, { env });
  const url = `http://127.0.0.1:${port}`;
  const headers = { 'x-vault-token': ROOT_TOKEN };
  // Its own KV engine is the last thing that a development server makes.
  await until('OpenBao serves', async () => {
    const answer = await fetch(`${url}/v1/secret/config`, { headers }).catch(() => null);
    return answer?.status === 200;
  });
  return {
    url,
    async call(method, path, body) {
      const sent = body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) };
      const answer = await fetch(`${url}/v1/${path}`, { method, headers, ...sent });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
      return text === '' ? null : JSON.parse(text);
    },
  };
}

interface Recorded {
  status: number;
  body: string;
}

/**
 * Stands in for an OpenBao: it passes requests on and records the answers, or gives recorded ones. A token that is sent to it is the name of one, so
 * that no record has a real one.
 */
export class RecordedOpenBao {
  readonly #server: Server;
  readonly #answers: Record<string, Recorded>;
  readonly requests: string[] = [];

  constructor(answer: (who: string, target: string) => Promise<Recorded | null>, answers: Record<string, Recorded>) {
    this.#answers = answers;
    this.#server = createServer(async (request, response) => {
      const who = String(request.headers['x-vault-token'] ?? 'nobody');
      const key = `${who} ${request.method} ${request.url}`;
      this.requests.push(key);
      const found = await answer(who, String(request.url));
      if (found !== null) this.#answers[key] = found;
      response.writeHead(found?.status ?? 403, { 'content-type': 'application/json' });
      response.end(found?.body ?? '{"errors":["permission denied"]}');
    });
  }

  static fromFile(file: string): RecordedOpenBao {
    const answers = JSON.parse(readFileSync(file, 'utf8')) as Record<string, Recorded>;
    return new RecordedOpenBao(async (who, target) => answers[`${who} GET ${target}`] ?? null, { ...answers });
  }

  static inFrontOf(url: string, tokens: Readonly<Record<string, string>>): RecordedOpenBao {
    return new RecordedOpenBao(async (who, target) => {
      const token = tokens[who];
      if (token === undefined) return null;
      const answer = await fetch(`${url}${target}`, { headers: { 'x-vault-token': token } });
      return { status: answer.status, body: (await answer.text()).trim() };
    }, {});
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  save(file: string): void {
    writeFileSync(
      file,
      `${JSON.stringify(this.#answers, Object.keys(this.#answers).sort().concat('status', 'body'), 2)}\n`,
    );
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
