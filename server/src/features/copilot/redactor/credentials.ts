import { type Finding, isDummy, type Kind } from './finding.ts';
import { NextMatch } from './next-match.ts';

/** Credentials that are known by what surrounds them: PEM blocks, JWTs, authorization headers, user and password in a URL. */
export function credentialFindings(text: string): Finding[] {
  return [...pemBlocks(text), ...surrounded(text)];
}

const PEM_BEGIN =
  /-{2,5} ?BEGIN ((?:[A-Z0-9]{2,12} ){0,4})(?:PRIVATE KEY(?: BLOCK)?|ENCRYPTED SESSION KEY|OpenVPN Static key V1) ?-{2,5}/g;
const PEM_END =
  /-{2,5} ?END (?:[A-Z0-9]{2,12} ){0,4}(?:PRIVATE KEY(?: BLOCK)?|ENCRYPTED SESSION KEY|OpenVPN Static key V1) ?-{2,5}/g;
/** A block without an end is masked as far as it looks like one, and no further than the largest key. */
const PEM_REST = /^[A-Za-z0-9+/=\s:,.\\"'-]{0,16384}/;

/** Only private keys: certificates and public keys are meant to be seen. */
function pemBlocks(text: string): Finding[] {
  const findings: Finding[] = [];
  const ends = new NextMatch(text, PEM_END);
  for (const begin of text.matchAll(PEM_BEGIN)) {
    if ((findings.at(-1)?.end ?? 0) > begin.index) continue;
    const bodyStart = begin.index + begin[0].length;
    const end = ends.from(bodyStart);
    const rest = PEM_REST.exec(text.slice(bodyStart))?.[0].length ?? 0;
    const stop = end === null ? bodyStart + rest : end.index + end[0].length;
    findings.push({ start: begin.index, end: stop, kind: 'private_key', rule: 'private-key' });
  }
  return findings;
}

interface Surrounded {
  readonly rule: string;
  readonly kind: Kind;
  /** The group named `value` is masked. */
  readonly form: RegExp;
}

const SURROUNDED: readonly Surrounded[] = [
  {
    rule: 'jwt',
    kind: 'token',
    form: /(?<![A-Za-z0-9_-])(?<value>eyJ[A-Za-z0-9_-]{8,8192}\.[A-Za-z0-9_-]{8,8192}(?:\.[A-Za-z0-9_-]{0,8192}){0,3})/dg,
  },
  {
    rule: 'authorization-header',
    kind: 'token',
    form: /\b(?:Bearer|Basic|Token|Digest|ApiKey|DPoP|GenieKey|SSWS|Splunk|Negotiate)[ \t]{1,4}(?<value>[A-Za-z0-9_.~+/:=-]{12,8192})/dgi,
  },
  {
    rule: 'authorization-header',
    kind: 'token',
    form: /\b(?:Proxy-)?Authorization["']?[ \t]{0,4}[:=][ \t]{0,4}["']?(?:[A-Za-z]{3,12}[ \t]{1,4})?(?<value>[A-Za-z0-9_.~+/=-]{8,8192})/dgi,
  },
  {
    rule: 'session-cookie',
    kind: 'token',
    form: /\b(?:Set-)?Cookie["']?[ \t]{0,4}:[ \t]{0,4}["']?[A-Za-z0-9_.-]{1,64}=(?<value>[^\s;"']{16,4096})/dgi,
  },
  {
    rule: 'password-in-url',
    kind: 'password',
    form: /\b[a-z][a-z0-9+.-]{1,30}:\/\/[^\s:/@"'<>?#]{0,128}:(?<value>[^\s@"'<>/]{1,256})@(?=[\w[.-])/dgi,
  },
  {
    rule: 'token-in-url',
    kind: 'token',
    form: /\bhttps?:\/\/(?<value>[A-Za-z0-9_~-]{20,256})@[\w.-]{3,253}/dg,
  },
  {
    rule: 'signature-in-url',
    kind: 'token',
    form: /[?&;][A-Za-z_-]{0,24}(?:sig|signature|x-amz-signature|x-goog-signature|x-amz-security-token|access_token|id_token|refresh_token|token|api_?key|apikey|auth|key|secret|password|passwd|pwd|code)=(?<value>[^\s&"'<>#;]{8,4096})/dgi,
  },
  {
    rule: 'password-of-command',
    kind: 'password',
    form: /(?<=\s)(?:-u|--user)[ =]{1,3}["']?[^\s:"'+][^\s:"']{0,127}:(?<value>[^\s"']{3,256})/dg,
  },
  {
    rule: 'password-of-command',
    kind: 'password',
    form: /(?<=\s)(?:--?(?:password|passwd|pass|pwd|token|secret|api-key|apikey|access-key|secret-key|auth-token|client-secret|requirepass))(?:[ \t]{1,3}|=)["']?(?<value>[^\s"']{4,512})/dgi,
  },
  {
    rule: 'password-of-command',
    kind: 'password',
    form: /\b(?:mysql|mysqldump|mariadb|mysqladmin)\b[^\n]{0,200}?\s-p(?<value>[^\s"'-][^\s"']{3,128})/dg,
  },
  {
    rule: 'password-of-command',
    kind: 'password',
    form: /\b(?:sshpass[ \t]{1,3}-p|redis-cli\b[^\n]{0,100}?[ \t]-a)[ \t]{0,3}["']?(?<value>[^\s"']{4,128})/dg,
  },
  {
    rule: 'password-statement',
    kind: 'password',
    form: /\b(?:IDENTIFIED(?: WITH [a-z0-9_']{1,40})? BY|(?:ENCRYPTED )?PASSWORD)[ \t]{1,4}(?:PASSWORD[ \t]{1,4})?'(?<value>[^'\n]{3,256})'/dgi,
  },
  {
    rule: 'netrc',
    kind: 'password',
    form: /\bmachine[ \t\n]{1,4}\S{1,253}[ \t\n]{1,4}login[ \t\n]{1,4}\S{1,128}[ \t\n]{1,4}password[ \t\n]{1,4}(?<value>\S{3,256})/dg,
  },
  {
    rule: 'password-hash',
    kind: 'password',
    form: /(?<![A-Za-z0-9$])(?<value>\$(?:2[abxy]|argon2(?:id|i|d)|[156y]|scrypt|pbkdf2-sha\d{3})\$[A-Za-z0-9./$=,+-]{20,400})/dg,
  },
];

function surrounded(text: string): Finding[] {
  const findings: Finding[] = [];
  for (const { rule, kind, form } of SURROUNDED) {
    for (const match of text.matchAll(form)) {
      const value = match.groups?.['value'] ?? '';
      const [start, end] = match.indices?.groups?.['value'] ?? [0, 0];
      // Whether words of documentation follow, such as `Bearer authentication` or `?token=<token>`.
      if (isDummy(value) || (kind === 'token' && /^[A-Za-z_-]{1,24}$/.test(value))) continue;
      if (rule === 'signature-in-url' && /^[a-z_-]{1,24}$/.test(value)) continue;
      if (rule === 'password-of-command' && /^(?:stdin|-|--)/.test(value)) continue;
      findings.push({ start, end, kind, rule });
    }
  }
  return findings;
}
