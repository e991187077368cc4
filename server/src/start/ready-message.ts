import { dirname, join, relative } from 'node:path';
import { ROOT_FILE } from '../features/certificates/index.ts';
import type { Kernel } from '../kernel/request/kernel.ts';
import { workerShares } from '../settings/worker-shares.ts';
import type { App } from './app.ts';

/** What somebody at a terminal reads when the service is ready. */
export function readyText(app: App): string {
  const { baseUrl, tlsUrl, isFirstStart, isTokenUnused } = app;
  if (isFirstStart) return welcome(app);
  const tls = tlsUrl === null ? '' : `Client certificates are taken at ${tlsUrl}\n`;
  return `Coffer is ready at ${baseUrl}\n${tls}${isTokenUnused ? `${tokenLines(app).join('\n')}\n` : ''}`;
}

/** The same for a log of JSON, with what tells this start from another. */
export function readyFields({
  kernel,
  schemaVersion,
  baseUrl,
  tlsUrl,
  isFirstStart,
  isTokenUnused,
  tokenFile,
}: App): object {
  const { version, nodeId, database, config } = kernel;
  return {
    version,
    node: process.version,
    schema: schemaVersion,
    node_id: nodeId,
    database: database.kind,
    url: baseUrl,
    ...(tlsUrl !== null && { tls_url: tlsUrl }),
    connections_max: workerShares(config).connectionsMax * config.workers,
    settings: config.changed,
    ...(isTokenUnused && { token_file: tokenFile }),
    ...(isFirstStart && { token_file: tokenFile, root_key: rootKeyText(kernel) }),
  };
}

function welcome(app: App): string {
  return [
    `Coffer is ready at ${app.baseUrl}`,
    '',
    ...tokenLines(app),
    ...(app.kernel.config.isConsoleOn ? [consoleLine(app)] : []),
    `  Keep ${rootKeyText(app.kernel)} safe and backed up: without it no secret can be opened.`,
    ...(app.tlsUrl === null ? [] : [tlsLine(app, dirname(shownPath(app.tokenFile)))]),
    `  The API is described at ${app.baseUrl}/docs`,
    '',
    '',
  ].join('\n');
}

function tokenLines(app: App): string[] {
  const tokenFile = shownPath(app.tokenFile);
  return [
    `  Your admin token is in ${tokenFile}, which only you can read. Log in with it, and go on with coffer --help:`,
    '',
    `    npx coffer login --url ${app.baseUrl} --token < ${quoted(tokenFile)}`,
    '',
  ];
}

/** Browsers have passkeys for `localhost` and not for an address. */
function consoleLine({ baseUrl, kernel }: App): string {
  const url = kernel.config.hasBaseUrl ? baseUrl : baseUrl.replace('//127.0.0.1:', '//localhost:');
  return `  Or open ${url}/ in a browser and give the token there. You choose the address and password that you sign in with.`;
}

/** What the root key comes from, which is what must be backed up. */
function rootKeyText({ config: { rootKey } }: Pick<Kernel, 'config'>): string {
  switch (rootKey.provider) {
    case 'file':
      return shownPath(rootKey.file);
    case 'env':
      return 'the value of CV_ROOT_KEY';
    case 'passphrase':
      return typeof rootKey.passphrase === 'string'
        ? 'the value of CV_ROOT_PASSPHRASE'
        : shownPath(rootKey.passphrase.file);
  }
}

function shownPath(file: string): string {
  const path = relative(process.cwd(), file);
  return path.startsWith('..') ? file : path;
}

function tlsLine({ tlsUrl, hasOwnIdentity }: App, folder: string): string {
  const trust = hasOwnIdentity ? `; its clients trust ${join(folder, ROOT_FILE)}` : '';
  return `  Client certificates are taken at ${tlsUrl}${trust}`;
}

/** Quotes a path for the shell: folder names may contain spaces and worse. */
function quoted(file: string): string {
  return /^[\w./-]+$/.test(file) ? file : `'${file.replaceAll("'", `'\\''`)}'`;
}
