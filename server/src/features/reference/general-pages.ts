import { BEFORE_A_REQUEST, ERROR_CODES } from '../../kernel/errors.ts';
import { codeBlock } from './code-block.ts';
import { breakable, type Html, html, inline } from './html.ts';
import { ERRORS, type Links } from './links.ts';

/** Rules that hold for every endpoint and are therefore not repeated at each. */
export function conventionsContent(serverUrl: string, links: Links): Html {
  const rows: [string, string][] = [
    ['Base URL', `\`${serverUrl}\``],
    ['Paths', 'Each also answers with `/v1` added or removed: `/v1/vaults` is `/vaults`, `/auth/me` is `/v1/auth/me`.'],
    [
      'Credentials',
      'People and scripts send `Authorization: Bearer $COFFER_TOKEN`, a session or a personal access token. Machines send `X-Client-Id` and `X-Client-Secret`, show a client certificate on the TLS port, or send a token that they got for their own identity. Each endpoint says what it accepts; another valid credential is refused with 403.',
    ],
    ['Bodies', 'JSON in UTF-8. An unknown field is refused. Where none is needed, nothing and `{}` are the same.'],
    [
      'Times',
      'ISO 8601 in UTC with milliseconds: `2026-11-14T10:00:00.000Z`. A filter also takes a date, which begins at midnight.',
    ],
    ['Queries', 'A parameter without a value counts as absent.'],
    [
      'Lists',
      'Give `next_cursor` back as `cursor`, with the same filters; it is null on the last page. `limit` is at most 1,000. What you may not read is left out, so a page can be short.',
    ],
    [
      'Repeating',
      'With an `Idempotency-Key` a change happens once: the same request gets the first answer again for 24 hours. Another request with the same key is refused.',
    ],
    [
      'Approval',
      'What takes two people answers 202 with an `approval_id`, and happens when somebody else has approved it.',
    ],
    [
      'Rate limits',
      '`X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset` tell what is left. After a 429 wait `Retry-After` seconds.',
    ],
    ['Request id', 'Every answer carries `X-Request-Id`, which also leads to its audit entry.'],
    ['HEAD and OPTIONS', 'HEAD answers like GET, without the body. OPTIONS answers 204, with the methods in `Allow`.'],
  ];
  return html`<h1>Conventions</h1>
<p class="lead">What holds at every endpoint. What a refusal means is on the page of <a href="${links.to(ERRORS)}">error codes</a>.</p>
<dl class="facts wide">${rows.map(([term, text]) => html`<div><dt>${term}</dt><dd>${inline(text)}</dd></div>`)}</dl>`;
}

export function errorsContent(): Html {
  return html`<section class="unfiltered"><h1>Error codes</h1>
<p class="lead">A refusal is always of this form. Decide by <code>code</code>, which never changes; <code>message</code> is for people.</p>
${codeBlock('Refusal', REFUSAL)}
<p>${inline(BEFORE_A_REQUEST)}</p></section>
<table class="stacked errors">
<thead><tr><th scope="col">Code</th><th scope="col">HTTP</th><th scope="col">Meaning</th></tr></thead>
<tbody>${Object.entries(ERROR_CODES).map(([code, [status, meaning]]) => {
    return html`<tr id="error-${code}" data-words="${`${code} ${status} ${meaning}`.toLowerCase()}">
<th scope="row"><a href="#error-${code}"><code class="field">${breakable(code)}</code></a></th>
<td>${status}</td><td>${inline(meaning)}</td></tr>`;
  })}</tbody>
</table>`;
}

const REFUSAL = JSON.stringify(
  {
    error: {
      code: 'VALIDATION_FAILED',
      message: 'The request is not valid: /body/name is required.',
      request_id: 'req_01k9z3v7m2x8q4w6t5r1n0p9ha',
      details: { fields: [{ pointer: '/body/name', reason: 'is required' }] },
    },
  },
  null,
  2,
);
