import type { FileContext } from './context.ts';
import type { Match } from './match.ts';

/** Files whose every line is a credential, as the programs that read them say. The file's name tells which. */
interface KnownFile {
  readonly name: RegExp;
  readonly rule: string;
  /** The group named `value` is the secret. */
  readonly line: RegExp;
}

const KNOWN_FILES: readonly KnownFile[] = [
  {
    name: /^\.?pgpass(?:\.conf)?$/,
    rule: 'pgpass',
    line: /^[^#:\n][^:\n]{0,200}:(?:\d{1,5}|\*):[^:\n]{1,64}:[^:\n]{1,64}:(?<value>[^\n]{1,200})$/dgm,
  },
  {
    name: /^(?:\.?htpasswd|passwd|shadow|.{0,32}passwd)$/,
    rule: 'password-hash',
    line: /^[^#:\n]{1,128}:(?<value>[^*!:\nx][^:\n]{5,256}|x[^:\n]{5,256})/dgm,
  },
  { name: /^(?:master|credentials)\.key$/, rule: 'rails-key', line: /^(?<value>[a-f0-9]{32,128})\s*$/dgm },
  {
    name: /\.ppk$/,
    rule: 'private-key',
    line: /^Private-Lines: \d{1,3}\r?\n(?<value>(?:[A-Za-z0-9+/=]{1,76}\r?\n){1,200})/dgm,
  },
  { name: /^\.?(?:_?netrc|esmtprc)$/, rule: 'netrc', line: /\bpassword\s{0,8}[=\s]\s{0,8}"?(?<value>[^\s"]{3,256})/dg },
  {
    name: /^\.?npmrc$/,
    rule: 'npm-token',
    line: /:?_(?:auth|authToken|password)\s{0,4}=\s{0,4}"?(?<value>[^\s"$]{8,1024})/dg,
  },
  {
    name: /^\.?git-credentials$/,
    rule: 'password-in-url',
    line: /^https?:\/\/[^\s:]{1,128}:(?<value>\S{3,200})@[^\s@]{1,200}$/dgm,
  },
  {
    name: /^(?:\.dockercfg|config\.json)$/,
    rule: 'docker-credential',
    line: /"auth"\s{0,4}:\s{0,4}"(?<value>[A-Za-z0-9+/]{8,1024}={0,2})"/dg,
  },
  {
    name: /^logins\.json$/,
    rule: 'stored-login',
    line: /"encrypted(?:Username|Password)"\s{0,4}:\s{0,4}"(?<value>[A-Za-z0-9+/=]{16,1024})"/dg,
  },
];

export function fileMatches(text: string, { name }: FileContext): Match[] {
  const matches: Match[] = [];
  for (const { name: form, rule, line } of name === '' ? [] : KNOWN_FILES) {
    if (!form.test(name)) continue;
    const kind = rule === 'private-key' ? 'private_key' : 'password';
    for (const { groups, indices } of text.matchAll(line)) {
      const [start, end] = indices?.groups?.['value'] ?? [0, 0];
      if (!/^(?:\$\{|<|\*+$)/.test(groups?.['value'] ?? ''))
        matches.push({ start, end, kind, rule, confidence: 'medium' });
    }
  }
  return matches;
}
