import { readFile } from 'node:fs/promises';
import { type Clock, MINUTE_MS } from '../../../kernel/base/clock.ts';
import { signedHeaders } from '../../../kernel/outbound/aws-signature.ts';
import type { HttpClient, OutgoingAnswer } from '../../../kernel/outbound/http-client.ts';
import { type ArchiveTarget, ArchiveTargetError } from './archive-folder.ts';
import type { S3Config } from './settings.ts';

const OBJECT_BYTES_MAX = 512 * 1024 * 1024;
const ERROR_BYTES_SHOWN = 300;

/** Objects in a bucket of an S3-compatible service. The URL has the bucket in its path, which every such service understands. */
export class ArchiveBucket implements ArchiveTarget {
  readonly #config: S3Config;
  readonly #http: HttpClient;
  readonly #clock: Clock;
  readonly #owner: string;

  constructor(config: S3Config, { http, clock, owner }: { http: HttpClient; clock: Clock; owner: string }) {
    this.#config = config;
    this.#http = http;
    this.#clock = clock;
    this.#owner = owner;
  }

  get name(): string {
    return `s3://${this.#config.bucket}/${this.#config.prefix}`;
  }

  /** The service refuses to replace an object (412), or a concurrent upload of it (409). */
  async write(name: string, object: Uint8Array): Promise<boolean> {
    const answer = await this.#send('PUT', name, { 'if-none-match': '*' }, Buffer.from(object));
    if (answer.status === 412 || answer.status === 409) return false;
    if (answer.status !== 200) throw refused('PUT', answer);
    return true;
  }

  /** There is nothing to delete: an object is there only once its upload is complete. */
  async removeUnfinished(): Promise<void> {}

  async read(name: string): Promise<Buffer | null> {
    const answer = await this.#send('GET', name, {}, null);
    if (answer.status === 404) return null;
    if (answer.status !== 200) throw refused('GET', answer);
    return answer.body;
  }

  async #send(
    method: 'GET' | 'PUT',
    name: string,
    headers: Record<string, string>,
    body: Buffer | null,
  ): Promise<OutgoingAnswer> {
    const { endpoint, bucket, prefix, region, accessKeyId, secretKeyFile, sessionTokenFile } = this.#config;
    const url = `${endpoint}/${bucket}/${prefix}${name}`;
    const credentials = {
      accessKeyId,
      secretAccessKey: (await readFile(secretKeyFile, 'utf8')).trim(),
      sessionToken: sessionTokenFile === null ? null : (await readFile(sessionTokenFile, 'utf8')).trim(),
    };
    const signed = signedHeaders({ method, url, headers, body: body ?? '' }, credentials, {
      region,
      service: 's3',
      now: this.#clock.now(),
    });
    return this.#http.send({
      owner: this.#owner,
      url,
      method,
      headers: signed,
      ...(body !== null && { body }),
      bodyBytesMax: OBJECT_BYTES_MAX,
      timeoutMs: 5 * MINUTE_MS,
    });
  }
}

/** The code and message of S3's answer name what to correct; they contain no credentials. */
function refused(method: string, { status, body }: OutgoingAnswer): Error {
  const code = /<Code>([A-Za-z]{1,64})<\/Code>/.exec(body.subarray(0, 4096).toString())?.[1] ?? '';
  return new ArchiveTargetError(
    `the bucket refused ${method} with ${status} ${code}`.slice(0, ERROR_BYTES_SHOWN).trim(),
  );
}
