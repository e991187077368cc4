import { isCode } from './judgement.ts';
import type { Confidence, Match, SecretKind } from './match.ts';
import { isPlaceholder, isSample } from './placeholders.ts';

/** Credentials that are known by what surrounds them: headers, addresses, options of commands, statements, lines of files. */
interface Structure {
  readonly rule: string;
  readonly kind: SecretKind;
  /** A text without any of these has none. They are cheaper to search for than the form. */
  readonly needs: readonly string[];
  /** The group named `value` is the secret. */
  readonly form: RegExp;
  readonly confidence: Confidence;
  readonly check?: (value: string) => boolean;
}

const hasDigit = (value: string) => /\d/.test(value);
const isNoWord = (value: string) => !/^[A-Za-z_-]{1,24}$/.test(value);

/** A user and a password in base64, as examples have them. */
function isSampleLogin(value: string): boolean {
  const [, password] =
    /^[\x20-\x7e]{1,64}:([\x20-\x7e]{1,64})$/.exec(Buffer.from(value, 'base64').toString('latin1')) ?? [];
  return (
    password !== undefined && (isPlaceholder(password) || isSample(password) || /^[a-z ]{1,24}\d?$/i.test(password))
  );
}

const HEADERS: readonly Structure[] = [
  {
    rule: 'authorization-header',
    kind: 'token',
    needs: ['earer', 'asic', 'BEARER', 'BASIC'],
    form: /\b(?:Bearer|Basic)[ \t]{1,4}(?<value>[A-Za-z0-9_.~+/:-]{20,4096}={0,2})/dgi,
    confidence: 'medium',
    check: (value) => hasDigit(value) && !isSampleLogin(value),
  },
  {
    rule: 'authorization-header',
    kind: 'token',
    needs: [' '],
    form: /\b(?:Bearer|Basic|Token|Digest|ApiKey|DPoP|GenieKey|SSWS|Splunk|Negotiate)[ \t]{1,4}(?<value>[A-Za-z0-9_.~+/:=-]{12,8192})/dgi,
    confidence: 'low',
    check: (value) => isNoWord(value) && hasDigit(value),
  },
  {
    rule: 'authorization-header',
    kind: 'token',
    needs: ['uthorization', 'UTHORIZATION'],
    form: /\b(?:Proxy-)?Authorization["']?[ \t]{0,4}[:=][ \t]{0,4}["']?(?:[A-Za-z]{3,12}[ \t]{1,4})?(?<value>[A-Za-z0-9_.~+/=-]{8,8192})/dgi,
    confidence: 'low',
    check: isNoWord,
  },
  {
    rule: 'session-cookie',
    kind: 'token',
    needs: ['ookie'],
    form: /\b(?:Set-)?Cookie["']?[ \t]{0,4}:[ \t]{0,4}["']?[A-Za-z0-9_.-]{1,64}=(?<value>[^\s;"']{16,4096})/dgi,
    confidence: 'low',
  },
];

const HEADER_OPTIONS: readonly Structure[] = [
  {
    rule: 'header-of-command',
    kind: 'token',
    needs: ['-H', '--header'],
    form: /(?:-H|--header)[ =]{0,3}["'][A-Za-z-]{0,30}(?:auth|token|key|secret)[A-Za-z-]{0,20}:\s{0,4}(?:[A-Za-z]{3,12}[ \t]{1,4})?(?<value>[^\s"'$<{][^\s"']{7,2000})["']/dgi,
    confidence: 'medium',
    check: hasDigit,
  },
];

const ADDRESSES: readonly Structure[] = [
  {
    rule: 'password-in-url',
    kind: 'password',
    needs: ['://'],
    form: /(?<=\b[a-z][a-z0-9+.-]{1,30}):\/\/[^\s:/@"'`<>?#]{0,128}:(?<value>[^\s:/@"'`<>?#$%{][^\s:/@"'`<>?#]{2,255})@(?=[\w[.-])/dgi,
    confidence: 'medium',
    check: (value) => !/^(?:pass|password|passwd|pwd|secret|pw|p|port|\d{1,5})$/i.test(value),
  },
  {
    rule: 'password-in-url',
    kind: 'password',
    needs: ['://'],
    form: /(?<=\b[a-z][a-z0-9+.-]{1,30}):\/\/[^\s:/@"'<>?#]{0,128}:(?<value>[^\s@"'<>/]{1,256})@(?=[\w[.-])/dgi,
    confidence: 'low',
  },
  {
    rule: 'token-in-url',
    kind: 'token',
    needs: ['://'],
    form: /\bhttps?:\/\/(?<value>[A-Za-z0-9_~-]{20,256})@[\w.-]{3,253}/dg,
    confidence: 'low',
    check: hasDigit,
  },
  {
    rule: 'signature-in-url',
    kind: 'token',
    needs: ['sig=', 'Signature=', 'access_token='],
    form: /[?&](?:sig|X-Amz-Signature|X-Goog-Signature|access_token)=(?<value>[A-Za-z0-9%_-]{32,512})/dg,
    confidence: 'medium',
    check: hasDigit,
  },
  {
    rule: 'signature-in-url',
    kind: 'token',
    needs: ['='],
    form: /[?&;][A-Za-z_-]{0,24}(?:sig|signature|x-amz-signature|x-goog-signature|x-amz-security-token|access_token|id_token|refresh_token|token|api_?key|apikey|auth|key|secret|password|passwd|pwd|code)=(?<value>[^\s&"'<>#;]{8,4096})/dgi,
    confidence: 'low',
    check: isNoWord,
  },
  {
    rule: 'slack-webhook',
    kind: 'secret',
    needs: ['hooks.slack'],
    form: /(?<value>(?:https?:\/\/)?hooks\.slack(?:-gov)?\.com\/(?:services|workflows|triggers)\/[A-Za-z0-9+/]{20,120})/dg,
    confidence: 'high',
  },
  {
    rule: 'discord-webhook',
    kind: 'secret',
    needs: ['/api/webhooks/'],
    form: /(?<value>(?:https?:\/\/)?(?:ptb\.|canary\.)?discord(?:app)?\.com\/api\/webhooks\/\d{15,22}\/[A-Za-z0-9_-]{50,90})/dg,
    confidence: 'high',
  },
  {
    rule: 'teams-webhook',
    kind: 'secret',
    needs: ['webhook.office.com'],
    form: /(?<value>https:\/\/[a-z0-9-]{1,63}\.webhook\.office\.com\/webhookb2\/[A-Za-z0-9@/_-]{60,200})/dgi,
    confidence: 'high',
  },
  {
    rule: 'totp-seed',
    kind: 'secret',
    needs: ['otpauth://'],
    form: /otpauth:\/\/[ht]otp\/[^\s"'<>]{0,200}?secret=(?<value>[A-Z2-7]{16,128})/dgi,
    confidence: 'medium',
  },
];

const COMMANDS: readonly Structure[] = [
  {
    rule: 'password-of-command',
    kind: 'password',
    needs: ['curl'],
    form: /\bcurl\b[^\n]{0,200}?\s(?:-u|--user)[ =]{0,3}["']?(?:[^\s:"'$][^\s:"']{0,127})?:(?<value>[^\s"'$][^\s"']{2,200})/dg,
    confidence: 'medium',
  },
  {
    rule: 'password-of-command',
    kind: 'password',
    needs: ['-u', '--user'],
    form: /(?<=\s)(?:-u|--user)[ =]{1,3}["']?[^\s:"'+][^\s:"']{0,127}:(?<value>[^\s"']{3,256})/dg,
    confidence: 'low',
  },
  {
    rule: 'password-of-command',
    kind: 'password',
    needs: ['-pass', '-pwd', '-token', '-secret', '-api', '-access', '-auth', '-client', '-requirepass'],
    form: /(?<=\s)(?:--?(?:password|passwd|pass|pwd|token|secret|api-key|apikey|access-key|secret-key|auth-token|client-secret|requirepass))(?:[ \t]{1,3}|=)["']?(?<value>[^\s"']{4,512})/dgi,
    confidence: 'low',
    check: (value) => !/^(?:stdin|-)/.test(value),
  },
  {
    rule: 'password-of-command',
    kind: 'password',
    needs: ['mysql', 'mariadb'],
    form: /\b(?:mysql|mysqldump|mariadb|mysqladmin)\b[^\n]{0,200}?\s-p(?<value>[^\s"'$-][^\s"']{3,128})/dg,
    confidence: 'medium',
    check: (value) => !/^(?:ort|assword|rotocol|lugin|ipe)/.test(value),
  },
  {
    rule: 'password-of-command',
    kind: 'password',
    needs: ['sshpass', 'redis-cli', 'docker login', 'podman login', 'helm registry'],
    form: /\b(?:sshpass[ \t]{1,3}-p|(?:docker|podman|registry)[ \t]{1,3}login\b[^\n]{0,160}?[ \t]-p|redis-cli\b[^\n]{0,100}?[ \t]-a)[ \t]{0,3}["']?(?<value>[^\s"'$][^\s"']{3,127})/dg,
    confidence: 'medium',
  },
  {
    rule: 'password-statement',
    kind: 'password',
    needs: ['IDENTIFIED', 'identified', 'PASSWORD ', 'password '],
    form: /\b(?:IDENTIFIED(?: WITH [a-z0-9_']{1,40})? BY|(?:ENCRYPTED )?PASSWORD)[ \t]{1,4}(?:PASSWORD[ \t]{1,4})?'(?<value>[^'\n]{3,256})'/dgi,
    confidence: 'medium',
    check: (value) => value.length >= 6,
  },
];

const LINES: readonly Structure[] = [
  {
    rule: 'netrc',
    kind: 'password',
    needs: ['machine'],
    form: /\bmachine[ \t\n]{1,4}\S{1,253}[ \t\n]{1,4}login[ \t\n]{1,4}\S{1,128}[ \t\n]{1,4}password[ \t\n]{1,4}(?<value>\S{3,256})/dg,
    confidence: 'medium',
  },
  {
    rule: 'password-hash',
    kind: 'password',
    needs: ['$'],
    form: /(?<![A-Za-z0-9$])(?<value>\$(?:2[abxy]\$\d\d\$[A-Za-z0-9./]{53}|argon2(?:id|i|d)\$v=\d{2}\$[A-Za-z0-9./$=,+-]{30,300}|6\$[A-Za-z0-9./$=]{4,40}\$[A-Za-z0-9./]{86}|(?:1|apr1)\$[A-Za-z0-9./]{1,8}\$[A-Za-z0-9./]{22}))(?![A-Za-z0-9./])/dg,
    confidence: 'medium',
  },
  {
    rule: 'password-hash',
    kind: 'password',
    needs: ['$'],
    form: /(?<![A-Za-z0-9$])(?<value>\$(?:2[abxy]|argon2(?:id|i|d)|apr1|P|[156y]|scrypt|pbkdf2-sha\d{3})\$[A-Za-z0-9./$=,+-]{20,400})/dg,
    confidence: 'low',
  },
  {
    rule: 'telegram-token',
    kind: 'token',
    needs: [':A'],
    form: /(?<value>(?<![0-9])\d{5,16}:A[A-Za-z0-9_-]{34})(?![A-Za-z0-9_-])/dg,
    confidence: 'high',
  },
  {
    rule: 'facebook-token',
    kind: 'token',
    needs: ['|', '%7'],
    form: /(?<!\d)(?<value>\d{15,16}(?:\||%7[Cc])[A-Za-z0-9_-]{27,40})(?![\w-])/dg,
    confidence: 'high',
  },
  {
    rule: 'asana-token',
    kind: 'token',
    needs: [':'],
    form: /(?<![\w/])(?<value>[12]\/\d{13,20}(?:\/\d{13,20})?:[a-f0-9]{32})(?!\w)/dg,
    confidence: 'high',
  },
  {
    rule: 'wireguard-key',
    kind: 'private_key',
    needs: ['PrivateKey', 'PresharedKey'],
    form: /(?:PrivateKey|PresharedKey) {0,2}= {0,2}(?<value>[A-Za-z0-9+/]{43}=)/dg,
    confidence: 'high',
  },
];

const STRUCTURES = [...HEADERS, ...HEADER_OPTIONS, ...ADDRESSES, ...COMMANDS, ...LINES];

export function* structureMatches(text: string, isPublic: (at: number) => boolean): Generator<void, Match[]> {
  const matches: Match[] = [];
  for (const { rule, kind, needs, form, confidence, check } of STRUCTURES) {
    if (!needs.some((part) => text.includes(part))) continue;
    for (const match of text.matchAll(form)) {
      const value = match.groups?.['value'] ?? '';
      const [start, end] = match.indices?.groups?.['value'] ?? [0, 0];
      if (isPlaceholder(value) || (check !== undefined && !check(value)) || isPublic(start)) continue;
      const sure = confidence !== 'low' && (isSample(value) || isCode(value)) ? 'low' : confidence;
      matches.push({ start, end, kind, rule, confidence: sure });
    }
    yield;
  }
  return matches;
}
