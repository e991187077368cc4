import { ERROR_CODES } from '../../kernel/base/errors.ts';
import { type EndpointDeclaration, errorCodes, NONE } from '../../kernel/endpoint/declaration.ts';
import { statusIn } from '../../kernel/wire/wire-format.ts';
import { codeBlock } from './code-block.ts';
import { answerExample, curlExample } from './example.ts';
import { breakable, type Html, html, inline, paragraphs } from './html.ts';
import { plainSchema } from './openapi.ts';
import { ERRORS, type Links } from './page-links.ts';
import { callers, requiredPermission } from './reference-docs.ts';
import { type Field, fieldsOf, typeName } from './schema-fields.ts';

/** One endpoint: description and fields on the left, examples on the right. */
export function endpointArticle(e: EndpointDeclaration, serverUrl: string, links: Links): Html {
  return html`
<article class="endpoint" id="${e.name}" data-words="${searchWords(e)}">
  <header>
    <h2><a href="#${e.name}">${inline(e.summary)}</a></h2>
    <p class="route">${methodLabel(e)} <code>${breakable(e.path)}</code></p>
  </header>
  <div class="columns">
    <div class="account">
      ${paragraphs(e.description)}
      ${facts(e)}
      ${inputs(e)}
      ${answer(e)}
      ${errors(e, links)}
    </div>
    <div class="examples">${examples(e, serverUrl)}</div>
  </div>
</article>`;
}

export function methodLabel(e: EndpointDeclaration): Html {
  return html`<span class="method ${e.method.toLowerCase()}">${e.method}</span>`;
}

/** The text that the filter box searches. */
export function searchWords(e: EndpointDeclaration): string {
  return [e.method, e.path, e.name, e.summary, e.noun, e.permission].join(' ').toLowerCase();
}

function facts(e: EndpointDeclaration): Html {
  const rows: [string, string | null][] = [
    ['Who may call', callers(e)],
    ['Permission', requiredPermission(e)],
    ['Plan', e.tier === NONE ? null : `${e.tier} or higher`],
    ['Rate class', e.rate === NONE ? 'not limited' : e.rate],
    ['Audited as', e.audit === NONE ? 'not audited' : `\`${e.audit}\``],
    ['Effect', effectText(e)],
    [
      'Approval',
      e.approval === NONE
        ? null
        : `may be needed (\`${e.approval}\`): the response is then 202 and the change is pending`,
    ],
  ];
  return html`<dl class="facts">${rows.map(([term, text]) => {
    return text === null ? null : html`<div><dt>${term}</dt><dd>${inline(text)}</dd></div>`;
  })}</dl>`;
}

function effectText(e: EndpointDeclaration): string {
  if (e.effect === 'read') return 'changes nothing';
  return e.credentials === 'public' ? 'makes a change' : 'makes a change; takes `Idempotency-Key`';
}

function inputs(e: EndpointDeclaration): Html[] {
  const parts: [string, EndpointDeclaration['params']][] = [
    ['Path', e.params],
    ['Query', e.query],
    ['Body', e.body],
  ];
  return parts.map(([title, schema]) => {
    return schema === NONE ? html`` : fieldTable(title, fieldsOf(plainSchema(schema)), 'input');
  });
}

function answer(e: EndpointDeclaration): Html {
  const title = `Response ${e.status}`;
  if (e.raw !== NONE) return html`<h3>${title}</h3><p><code>${e.raw}</code></p>`;
  if (e.output === NONE) return html`<h3>${title}</h3><p>No content.</p>`;
  const schema = plainSchema(e.output);
  const fields = fieldsOf(schema);
  return fields.length > 0 ? fieldTable(title, fields, 'output') : html`<h3>${title}</h3><p>${typeName(schema)}</p>`;
}

function fieldTable(title: string, fields: readonly Field[], direction: 'input' | 'output'): Html {
  if (fields.length === 0) return html``;
  return html`<h3>${title}</h3>
<table class="stacked">
<thead><tr><th scope="col">Name</th><th scope="col">Type</th><th scope="col">Meaning</th></tr></thead>
<tbody>${fields.map((field) => fieldRow(field, direction))}</tbody>
</table>`;
}

function fieldRow(field: Field, direction: 'input' | 'output'): Html {
  const need = direction === 'input' ? needLabel(field) : field.isRequired ? null : html`<em>may be absent</em>`;
  return html`<tr>
<th scope="row"><code class="field">${breakable(field.name)}</code>${need}</th>
<td>${field.type}</td>
<td>${field.description === '' ? null : html`<div>${inline(field.description)}</div>`}${
    field.constraints.length === 0
      ? null
      : html`<div class="constraints">${inline(field.constraints.join(' · '))}</div>`
  }</td>
</tr>`;
}

function needLabel(field: Field): Html {
  return field.isRequired ? html`<em class="required">required</em>` : html`<em>optional</em>`;
}

function errors(e: EndpointDeclaration, links: Links): Html {
  return html`<h3>Errors</h3><ul class="codes">${errorCodes(e).map((code) => {
    const [, meaning] = ERROR_CODES[code];
    const status = statusIn(e.format, code);
    return html`<li><a class="code-link" href="${links.to(ERRORS, `error-${code}`)}" title="${meaning}"><b>${status}</b> ${code}</a></li>`;
  })}</ul>`;
}

function examples(e: EndpointDeclaration, serverUrl: string): Html {
  const answered = answerExample(e);
  const shown = answered === null ? null : codeBlock(`Response ${e.status}`, answered);
  return html`${codeBlock('Request', curlExample(e, serverUrl))}${shown}`;
}
