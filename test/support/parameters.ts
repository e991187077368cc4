import { parse } from 'acorn';
import { fullAncestor } from 'acorn-walk';
import { transformSync } from 'esbuild';

/** What acorn says of a function, or of what gives it a name. */
interface Syntax {
  type: string;
  id?: Syntax | null;
  key?: Syntax;
  callee?: Syntax;
  property?: Syntax;
  name?: string;
  params?: unknown[];
}

/** The functions, methods and constructors of a source in TypeScript or TSX that have more parameters than `most`, by their names. */
export function functionsWithMoreThan(most: number, file: string, text: string): string[] {
  const { code } = transformSync(text, { loader: file.endsWith('x') ? 'tsx' : 'ts', target: 'esnext' });
  const found: string[] = [];
  fullAncestor(parse(code, { ecmaVersion: 'latest', sourceType: 'module' }), (node, _, ancestors) => {
    const { params = [] } = node as Syntax;
    if (params.length > most) found.push(nameOf(ancestors as readonly Syntax[]));
  });
  return found;
}

/** Its own name, or that of the nearest thing around it that has one: the method, the variable, or the call that it is passed to. */
function nameOf(ancestors: readonly Syntax[]): string {
  for (const { id, key, callee } of ancestors.toReversed()) {
    const name = (id ?? key ?? callee?.property ?? callee)?.name;
    if (name !== undefined) return name;
  }
  return '';
}
