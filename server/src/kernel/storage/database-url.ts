/** More servers than this are a mistake: each is tried in turn. */
export const SERVERS_MAX = 8;
const PARTS = /^(postgres(?:ql)?:\/\/)(?:([^/?#\s]*)@)?([^/?#@\s]*)(\/[^?#\s]*)?(\?[^#\s]*)?$/;
const HOST_AND_PORT = /^(?:\[[0-9a-fA-F:.]+\]|[^:[\]]*)(?::\d{1,5})?$/;
const ATTRIBUTE = 'target_session_attrs';

/** What a database URL with one or more servers says, in the form that PostgreSQL's own clients take. */
export interface DatabaseUrl {
  /** A URL for each server, in the order in which they are tried. */
  readonly servers: readonly string[];
  /** Whether a server counts only if it accepts writes. Of several servers one must: the others are its standbys. */
  readonly isWritableRequired: boolean;
}

/** Null if the text is not such a URL. */
export function parseDatabaseUrl(text: string): DatabaseUrl | null {
  const [, scheme, user, hosts = '', path = '', query = ''] = PARTS.exec(text) ?? [];
  if (scheme === undefined || hosts + path + query === '') return null;
  const parameters = new URLSearchParams(query);
  const wanted = parameters.getAll(ATTRIBUTE);
  if (wanted.length > 1 || (wanted[0] ?? 'read-write') !== 'read-write') return null;
  const listed = hosts.split(',');
  if (listed.length > SERVERS_MAX || new Set(listed).size < listed.length) return null;
  const isSeveral = listed.length > 1;
  // One server may have no name here, because it is named by a parameter or is a local socket.
  if (listed.some((host) => !HOST_AND_PORT.test(host) || (isSeveral && !/^[^:]/.test(host)))) return null;
  const rest = path + withoutAttribute(query);
  const servers = listed.map((host) => `${scheme}${user === undefined ? '' : `${user}@`}${host}${rest}`);
  if (!servers.every(isUrl)) return null;
  return { servers, isWritableRequired: isSeveral || wanted.length > 0 };
}

/** Everything else stays exactly as it was written: the driver reads it. */
function withoutAttribute(query: string): string {
  const accepted = query
    .slice(1)
    .split('&')
    .filter((parameter) => parameter !== '' && !parameter.startsWith(`${ATTRIBUTE}=`));
  return accepted.length === 0 ? '' : `?${accepted.join('&')}`;
}

/** As the driver reads it, which takes a URL with a user and without a host for one of a local socket. */
function isUrl(text: string): boolean {
  return URL.canParse(text) || URL.canParse(text.replace('@/', '@local/'));
}

/** Whether two URLs differ at most in the password. */
export function hasSameServers(a: string, b: string): boolean {
  const withoutPassword = (url: string) => {
    const [, scheme, user = '', ...rest] = PARTS.exec(url) ?? [];
    return scheme === undefined ? null : JSON.stringify([scheme, user.split(':', 1), rest]);
  };
  return withoutPassword(a) !== null && withoutPassword(a) === withoutPassword(b);
}

/** A server's name for messages: neither user nor password. */
export function serverName(url: string): string {
  return PARTS.exec(url)?.[3] || 'the local server';
}
