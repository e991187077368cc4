import type { Match } from './match.ts';

const SECRET = /^[ \t]*["']?kind["']?:[ \t]*["']?secret\b/im;
const KEY_OF_DATA = /^["']?(?:data|stringData)["']?$/;
const KEY = /^["']?[\w.-]{1,128}["']?$/;
const TEMPLATE = /\{\{|\$\{|^<|^\$/;
const ENCODED = /^[A-Za-z0-9+/=]{8,4096}$/;
const VALUE_LENGTH_MIN = 4;

/** The values of a Kubernetes Secret, whose keys may be named anything. */
export function kubernetesMatches(text: string): Match[] {
  if (!/secret/i.test(text) || !SECRET.test(text)) return [];
  const matches: Match[] = [];
  let start = 0;
  for (const document of text.split(/^(?=---)/m)) {
    if (SECRET.test(document)) for (const match of valuesIn(document, start)) matches.push(match);
    start += document.length;
  }
  return matches;
}

function valuesIn(document: string, offset: number): Match[] {
  const matches: Match[] = [];
  let dataIndentation = -1;
  let at = offset;
  for (const line of document.split('\n')) {
    const trimmed = line.trim();
    const indentation = line.length - line.trimStart().length;
    const colon = trimmed.indexOf(':');
    const isInside = dataIndentation !== -1 && indentation > dataIndentation;
    if (KEY_OF_DATA.test(trimmed.slice(0, Math.max(0, colon)))) dataIndentation = indentation;
    else if (isInside) {
      const value = KEY.test(trimmed.slice(0, Math.max(0, colon))) ? valueAfter(trimmed.slice(colon + 1)) : trimmed;
      const isWhole = colon !== -1 || ENCODED.test(trimmed);
      if (isWhole && value.length >= VALUE_LENGTH_MIN && !TEMPLATE.test(value)) {
        const start = at + line.lastIndexOf(value);
        matches.push({
          start,
          end: start + value.length,
          kind: 'secret',
          rule: 'kubernetes-secret',
          confidence: 'medium',
        });
      }
    } else if (trimmed !== '') dataIndentation = -1;
    at += line.length + 1;
  }
  return matches;
}

/** Without quotes, or the mark of a block that begins on the next line. */
function valueAfter(text: string): string {
  const value = text.trim().replace(/^[|>][+-]?/, '');
  return /^["'].*["']$/.test(value) ? value.slice(1, -1) : value;
}
