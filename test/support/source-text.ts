/** A comment or an identifier of a source file, and where it begins. */
export interface SourceText {
  kind: 'comment' | 'identifier';
  text: string;
  at: number;
}

/** What may come before a slash that begins a regular expression, and not a division. */
const BEFORE_EXPRESSION = /(?:^|[(,=:[!&|?{};>+\-*%~^<]|\b(?:return|typeof|case|of|in|yield|await))\s*$/;
const PIECES = [
  /\/\/[^\n]*/y,
  /\/\*[\s\S]*?\*\//y,
  /'(?:[^'\\\n]|\\[\s\S])*'/y,
  /"(?:[^"\\\n]|\\[\s\S])*"/y,
  /[A-Za-z_$][\w$]*/y,
];
const REGULAR_EXPRESSION = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y;
const TEMPLATE_TEXT = /(?:[^`\\$]|\\[\s\S]|\$(?!\{))*/y;

/** Comments and identifiers of TypeScript, in order; texts in quotes and regular expressions are skipped. */
export function commentsAndIdentifiers(source: string): SourceText[] {
  const found: SourceText[] = [];
  // Depths of braces at which the code inside a template ends.
  const templates: number[] = [];
  let depth = 0;
  let at = 0;
  const take = (pattern: RegExp): string | null => {
    pattern.lastIndex = at;
    const text = pattern.exec(source)?.[0] ?? null;
    if (text !== null) at += text.length;
    return text;
  };
  const skipTemplateText = (): void => {
    take(TEMPLATE_TEXT);
    if (source[at] === '`') at++;
    else {
      at += 2;
      templates.push(depth);
    }
  };
  while (at < source.length) {
    const begin = at;
    const piece = pieceAt(take);
    if (piece === null) {
      const sign = source[at];
      if (sign === '/' && BEFORE_EXPRESSION.test(source.slice(Math.max(0, at - 40), at)) && take(REGULAR_EXPRESSION)) {
        // Nothing in it is a name.
      } else {
        at++;
        if (sign === '`') skipTemplateText();
        else if (sign === '{') depth++;
        else if (sign === '}' && templates.at(-1) === depth) {
          templates.pop();
          skipTemplateText();
        } else if (sign === '}') depth--;
      }
    } else if (piece.startsWith('//') || piece.startsWith('/*'))
      found.push({ kind: 'comment', text: piece, at: begin });
    else if (/^[A-Za-z_$]/.test(piece)) found.push({ kind: 'identifier', text: piece, at: begin });
  }
  return found;
}

function pieceAt(take: (pattern: RegExp) => string | null): string | null {
  for (const pattern of PIECES) {
    const text = take(pattern);
    if (text !== null) return text;
  }
  return null;
}
