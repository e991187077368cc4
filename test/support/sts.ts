import { createHash, createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Sha256 } from '@aws-crypto/sha256-js';
import { SignatureV4 } from '@smithy/signature-v4';

export interface StsAccount {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
  account: string;
  arn: string;
  userId: string;
}

/** STS as far as a login needs it: it verifies SigV4 signatures of pre-signed URLs by computing them anew. */
export class StsServer {
  readonly url: string;
  readonly host: string;
  readonly close: () => void;
  readonly accounts: StsAccount[] = [];
  readonly requests: { url: string; headers: IncomingMessage['headers'] }[] = [];
  instead: ((request: IncomingMessage, response: ServerResponse) => void) | null = null;

  private constructor(port: number, close: () => void) {
    this.host = `127.0.0.1:${port}`;
    this.url = `http://${this.host}`;
    this.close = close;
  }

  static async start(): Promise<StsServer> {
    const server = createServer((request, response) => sts.#answer(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const close = () => {
      server.closeAllConnections();
      server.close();
    };
    const sts: StsServer = new StsServer((server.address() as AddressInfo).port, close);
    return sts;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    this.requests.push({ url: request.url ?? '', headers: request.headers });
    if (this.instead !== null) {
      this.instead(request, response);
      return;
    }
    const url = new URL(request.url ?? '', this.url);
    const signer = this.#signer(url, request);
    const action = url.searchParams.get('Action');
    const wantsJson = request.headers.accept === 'application/json';
    if (signer === null) said(response, 403, wantsJson, { Error: { Code: 'SignatureDoesNotMatch' } });
    else if (action !== 'GetCallerIdentity')
      said(response, 400, wantsJson, { Error: { Code: 'InvalidAction', action } });
    else {
      const result = { Arn: signer.arn, UserId: signer.userId, Account: signer.account };
      const ResponseMetadata = { RequestId: '01234567-89ab-cdef-0123-456789abcdef' };
      const body = { GetCallerIdentityResponse: { GetCallerIdentityResult: result, ResponseMetadata } };
      said(response, 200, wantsJson, body);
    }
  }

  /** Signature Version 4, written from its description and not with the signer's own code. */
  #signer(url: URL, request: IncomingMessage): StsAccount | null {
    const query = url.searchParams;
    const [accessKeyId, day = '', region = '', service = ''] = (query.get('X-Amz-Credential') ?? '').split('/');
    const account = this.accounts.find((known) => known.accessKeyId === accessKeyId);
    if (account === undefined || query.get('X-Amz-Security-Token') !== (account.sessionToken ?? null)) return null;
    const date = query.get('X-Amz-Date') ?? '';
    const signedAt = Date.parse(date.replace(/^(....)(..)(..)T(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z'));
    const isCurrent = Date.now() <= signedAt + Number(query.get('X-Amz-Expires')) * 1000;
    const names = (query.get('X-Amz-SignedHeaders') ?? '').split(';');
    const canonical = [
      request.method,
      '/',
      [...query]
        .filter(([name]) => name !== 'X-Amz-Signature')
        .map(([name, value]) => `${spelled(name)}=${spelled(value)}`)
        .sort()
        .join('&'),
      ...names.map((name) => `${name}:${String(request.headers[name] ?? '').trim()}`),
      '',
      names.join(';'),
      createHash('sha256').update('').digest('hex'),
    ].join('\n');
    const scope = `${day}/${region}/${service}/aws4_request`;
    const text = ['AWS4-HMAC-SHA256', date, scope, createHash('sha256').update(canonical).digest('hex')].join('\n');
    const mac = (key: string | Buffer, data: string) => createHmac('sha256', key).update(data).digest();
    const key = [day, region, service, 'aws4_request'].reduce<string | Buffer>(mac, `AWS4${account.secretAccessKey}`);
    return isCurrent && mac(key, text).toString('hex') === query.get('X-Amz-Signature') ? account : null;
  }
}

function spelled(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
}

function said(response: ServerResponse, status: number, asJson: boolean, body: unknown): void {
  const type = asJson ? 'application/json' : 'text/xml';
  response.writeHead(status, { 'content-type': type }).end(asJson ? JSON.stringify(body) : '<Answer/>');
}

export interface SigningOptions {
  action?: string;
  version?: string;
  headers?: Record<string, string>;
  expiresIn?: number;
  signingDate?: Date;
  host?: string;
  protocol?: string;
  region?: string;
  service?: string;
}

/** A GetCallerIdentity request, signed into a URL by the AWS SDK's own signer. */
export async function presigned(account: StsAccount, sts: StsServer, options: SigningOptions = {}): Promise<string> {
  const [hostname = '', port] = (options.host ?? sts.host).split(':');
  const signer = new SignatureV4({
    service: options.service ?? 'sts',
    region: options.region ?? 'us-east-1',
    credentials: account,
    sha256: Sha256,
    applyChecksum: false,
  });
  const request = await signer.presign(
    {
      method: 'GET',
      protocol: options.protocol ?? 'http:',
      hostname,
      ...(port !== undefined && { port: Number(port) }),
      path: '/',
      query: { Action: options.action ?? 'GetCallerIdentity', Version: options.version ?? '2011-06-15' },
      headers: { host: options.host ?? sts.host, ...options.headers },
    },
    {
      expiresIn: options.expiresIn ?? 60,
      ...(options.signingDate !== undefined && { signingDate: options.signingDate }),
    },
  );
  const query = Object.entries(request.query ?? {}).map(
    ([name, value]) => `${spelled(name)}=${spelled(String(value))}`,
  );
  return `${request.protocol}//${options.host ?? sts.host}/?${query.join('&')}`;
}
