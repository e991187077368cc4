import { CofferError } from '../../kernel/base/errors.ts';
import type { Context } from '../../kernel/request/context.ts';
import { type Assistant, Conversation } from './assistant.ts';
import { CODE_INSTRUCTIONS } from './framing.ts';
import { CREDENTIAL_KINDS } from './redactor/finding.ts';
import { type CodeFinding, REPLY_LENGTH_MAX } from './schemas.ts';

const FENCED = /```[^\n]{0,40}\n([\s\S]*?)```/;
const FINDINGS_MAX = 100;

/** Habits that a reviewer would question. They do not reject the code, since each has its uses. */
const QUESTIONABLE: readonly [rule: string, form: RegExp][] = [
  [
    'tls-verification-off',
    /rejectUnauthorized\s*:\s*false|verify\s*=\s*False|InsecureSkipVerify\s*:\s*true|CURLOPT_SSL_VERIFYPEER\s*,\s*(?:false|0)|--insecure\b|curl\s[^\n]{0,80}-k\b/,
  ],
  ['plain-http', /["'`]http:\/\/(?!localhost|127\.0\.0\.1|\[::1\])/],
  ['code-from-text', /\beval\s*\(|\bexec\s*\(|new Function\s*\(|os\.system\s*\(|shell\s*=\s*True/],
  [
    'secret-in-output',
    /(?:console\.\w+|print|println|printf|puts|echo|log\.\w+|logger\.\w+|fmt\.Print\w*)\s*\(?[^\n]{0,120}\b(?:secret|password|token|api_?key)\b(?!s?["'])/i,
  ],
  ['weak-hash', /\b(?:md5|sha1)\b\s*\(|createHash\(\s*["'](?:md5|sha1)["']/i],
];

export async function generateCode(
  ctx: Context,
  assistant: Assistant,
  { language, prompt }: { language: string; prompt: string },
) {
  assistant.requireEnabled();
  const conversation = new Conversation(ctx);
  const reply = await assistant.rawReply(ctx, conversation, [
    { role: 'system', content: CODE_INSTRUCTIONS },
    { role: 'user', content: `Language: ${language}\n\n${prompt}` },
  ]);
  if (reply.length > REPLY_LENGTH_MAX) throw assistant.tooLong(conversation);
  const raw = FENCED.exec(reply)?.[1] ?? reply;
  const found = await conversation.redaction.find(raw);
  const lineAt = (position: number) => raw.slice(0, position).split('\n').length;
  const secrets = found.filter(({ kind }) => CREDENTIAL_KINDS.has(kind));
  if (secrets.length > 0) {
    assistant.finish(conversation);
    ctx.record.describe({ hardcoded_secrets: secrets.length });
    const findings = secrets.slice(0, FINDINGS_MAX).map(({ start, rule }) => ({ line: lineAt(start), rule }));
    throw new CofferError(
      'HARDCODED_SECRET',
      'The generated code contains secrets as literals, so it is not returned. Ask for code that reads them from the service.',
      { details: { findings } },
    );
  }
  const code = conversation.redaction.replace(raw, found);
  assistant.finish(conversation);
  return { code, findings: questionable(code), redactions: conversation.redaction.counts };
}

function questionable(code: string): CodeFinding[] {
  const findings = code
    .split('\n')
    .flatMap((text, at) =>
      QUESTIONABLE.filter(([, form]) => form.test(text.slice(0, 1000))).map(([rule]) => ({ line: at + 1, rule })),
    );
  return findings.slice(0, FINDINGS_MAX);
}
