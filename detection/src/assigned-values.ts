import { startOfTrailing } from './sentence-end.ts';

/** A value that a text gives to a name. */
export interface Assigned {
  readonly start: number;
  readonly end: number;
  readonly value: string;
  readonly isQuoted: boolean;
  /** How the text says so. Two texts beside each other, and what a sentence says, are less certain than a sign. */
  readonly by: 'sign' | 'pair' | 'line' | 'element' | 'call' | 'comma' | 'sentence';
}

/** Where a value begins, and how it was introduced. */
interface Sign {
  readonly at: number;
  readonly by: Assigned['by'];
}

/** What closes a name: quotes, also escaped ones, and the bracket of an index. */
const CLOSING = /(?:\[\])?(?:\\?["'`]|\]|\)){0,3}/y;
/** A type between a name and the sign, as Go, Kotlin, Rust, Swift and C# write it. */
const TYPE =
  /(?:[ \t]{0,4}:[ \t]{0,4}|[ \t]{1,4})(?:&|\*|\?|'static )?(?:[A-Za-z_][\w.]{0,40})(?:<[A-Za-z_][\w.]{0,40}>)?(?:\[\]|\?|!)?[ \t]{0,8}(?==)/y;
const SIGN =
  /[ \t]{0,16}(?::{1,3}=|!={1,2}|-(?=[ \t]['"])|\?\?=|\|\|=|\?=|\.=|\+=|=>|={1,3}|:|<-|:|=)[ \t]{0,16}(?:[[(]{1,2}[ \t]{0,8})?/y;
/** The value of a YAML block, or one that a language continues on the next line. */
const NEXT_LINE = /(?:[|>][+-]?\d?[ \t]{0,8})?\r?\n[ \t]{1,32}(?=["'`]|[^\s:=#/-])/y;
const BLOCK_MARK = /[|>][+-]?\d?[ \t]{0,8}\r?\n/y;
const COMMA = /[ \t]{0,8},[ \t]{0,8}(?=\\?["'`])/y;
/** Calls that set a variable or define a constant by its name. */
const SETTER =
  /(?:set|put|env|define|property|add|config|with|header|const)\w{0,16}[ \t]{0,2}\([ \t]{0,4}["'`][\w.$-]{0,8}$/i;
const CALL = /\([ \t]{0,4}(?=["'`])/y;
const ELEMENT = /(?:[ \t][^<>\n]{0,160})?>\s{0,64}/y;
/** Where the name itself is a value: of Kubernetes, of an `add` element, of a property list, of a pair in JSON. */
const PAIR =
  /(?:["'`]?[ \t]{0,4},?\s{0,40}["'`]?(?:default_?)?(?:value|default)["'`]?[ \t]{0,8}[:=][ \t]{0,8}|["'`][ \t]{0,4}>[ \t]{0,4}|<\/(?:key|name)>\s{0,40}<(?:string|value)>)/iy;
const VERB =
  /(?:[ \t]{1,3}(?:of|for|to|von|für|de|del|da|do|di|per|pour|para|voor|dla|для)[ \t]{1,3}[^\s:=]{1,40}(?:[ \t]{1,3}[^\s:=]{1,40}){0,3})?(?:[ \t]{1,3}(?:is|was|ist|lautet|war|es|est|era|è|é|foi|jest|to|being|set to|reads|equals|это|является)(?:[ \t]{1,3}(?:now|still|jetzt|ahora|agora|maintenant|nun|set to))?[ \t]{0,3}:?[ \t]{1,3}|[ \t]{0,3}(?:は|是|为|為|는|은)[ \t::]{0,3})/iy;
/** Lines of container files and shells that name and value share without a sign. */
const STATEMENT = /(?:^|\n)[ \t]{0,16}(?:ENV|ARG|setenv|SetEnv|set|login|default login \S{1,64})[ \t]{1,8}$/;
const SPACE = /[ \t]{1,8}(?=\S)/y;
const STATEMENT_LENGTH_MAX = 96;
/** The scheme before a token, as in `Token: Bearer …`. */
const SCHEME = /[A-Za-z]{3,10}[ ](?=[^\s"'`]{12})/y;

const LITERAL =
  /(?:[A-Za-z][\w.:]{0,24}\([ \t]{0,2})?(?:[bBrRfFuUNL@$]{1,2}(?=["']))?(?:"""\s{0,16}(?<three>[^"\\]{3,512})"""|"(?<double>(?:[^"\\\n]|\\[^\n]){3,1024})"|'(?<single>(?:[^'\\\n]|\\[^\n]){3,1024})'|`(?<tick>[^`\n]{3,512})`|「(?<corner>[^」\n]{3,512})」|\\"(?<escaped>[^"\\\n]{3,512})\\")/dy;
const BARE = /(?:[^\s"'`,;<>(){}「」。、\\]|\\(?![nrt"'\\])){3,512}/y;
/** The rest of a line of settings is the value, whatever it has in it. */
const REST_OF_LINE = /[^\s"'`#;][^\s]{2,511}(?=[ \t]{0,8}(?:\r?\n|$))/y;
const LINE_START = /(?:^|\n)[ \t]{0,16}(?:export[ \t]{1,4}|set[ \t]{1,4})?$/;
const CODE_AFTER = /[.([]/;

function reads(form: RegExp, text: string, at: number): string | null {
  form.lastIndex = at;
  return form.exec(text)?.[0] ?? null;
}

/** The value of the name that stands between these positions, if it has one. */
export function assignedTo(text: string, nameStart: number, nameEnd: number): Assigned | null {
  const sign = signAfter(text, nameStart, nameEnd);
  return sign === null ? valueBefore(text, nameStart) : valueAt(text, sign, nameStart);
}

const COMPARED = /["'][ \t]{0,4}[!=]==?[ \t]{0,4}$/;
const COMPARED_LENGTH_MAX = 10;
const LITERAL_LENGTH_MAX = 512;

/** A literal that is compared with the name, and stands before it. */
function valueBefore(text: string, nameStart: number): Assigned | null {
  const sign = COMPARED.exec(text.slice(Math.max(0, nameStart - COMPARED_LENGTH_MAX), nameStart))?.[0];
  if (sign === undefined) return null;
  const end = nameStart - sign.length;
  const start = text.lastIndexOf(text.charAt(end), end - 1) + 1;
  const value = text.slice(start, end);
  if (start === 0 || end - start > LITERAL_LENGTH_MAX || value.includes('\n')) return null;
  return { start, end, value, isQuoted: true, by: 'sign' };
}

function signAfter(text: string, nameStart: number, nameEnd: number): Sign | null {
  const closing = reads(CLOSING, text, nameEnd) ?? '';
  const after = nameEnd + closing.length;
  const pair = isInValue(text, nameStart, closing) ? reads(PAIR, text, nameEnd) : null;
  if (pair !== null) return { at: nameEnd + pair.length, by: 'pair' };
  if (isElement(text, nameStart)) {
    const element = reads(ELEMENT, text, nameEnd);
    return element === null ? null : { at: nameEnd + element.length, by: 'element' };
  }
  const type = reads(TYPE, text, after);
  const sign = reads(SIGN, text, after + (type?.length ?? 0));
  if (sign !== null) return signAt(text, after + (type?.length ?? 0) + sign.length);
  if (/["'`]/.test(closing)) {
    const comma = reads(COMMA, text, after);
    const by = SETTER.test(text.slice(Math.max(0, nameStart - 32), nameStart)) ? 'pair' : 'comma';
    if (comma !== null) return { at: after + comma.length, by };
  }
  const call = reads(CALL, text, nameEnd);
  if (call !== null) return { at: nameEnd + call.length, by: 'call' };
  return signOfStatement(text, nameStart, after);
}

function signAt(text: string, at: number): Sign {
  const nextLine = reads(NEXT_LINE, text, at);
  if (nextLine === null) return { at, by: 'sign' };
  const isBlock = reads(BLOCK_MARK, text, at) !== null;
  // The next line of YAML without a mark is a name of its own.
  return isBlock || /["'`]/.test(text.charAt(at + nextLine.length))
    ? { at: at + nextLine.length, by: 'sign' }
    : { at, by: 'sign' };
}

function signOfStatement(text: string, nameStart: number, after: number): Sign | null {
  const before = text.slice(Math.max(0, nameStart - STATEMENT_LENGTH_MAX), nameStart);
  if (STATEMENT.test(before)) {
    const space = reads(SPACE, text, after);
    return space === null ? null : { at: after + space.length, by: 'line' };
  }
  const verb = reads(VERB, text, after);
  return verb === null ? null : { at: after + verb.length, by: 'sentence' };
}

/** Whether the name is the value of `name`, `key` or the like. */
function isInValue(text: string, nameStart: number, closing: string): boolean {
  const before = text.slice(Math.max(0, nameStart - 24), nameStart);
  return (
    /(?:name|key|variable)["'`]?[ \t]{0,4}(?:[:=>][ \t]{0,4}|[ \t])["'`]?$/i.test(before) ||
    (closing === '' && /<key>$/.test(before))
  );
}

function isElement(text: string, nameStart: number): boolean {
  return /<(?:[A-Za-z0-9_-]{1,24}:)?$/.test(text.slice(Math.max(0, nameStart - 26), nameStart));
}

function valueAt(text: string, { at, by }: Sign, nameStart: number): Assigned | null {
  LITERAL.lastIndex = at;
  const groups = LITERAL.exec(text)?.indices?.groups ?? {};
  const span = Object.values(groups).find((one) => one !== undefined);
  if (span !== undefined) {
    const [start, end] = span;
    return { start, end, value: text.slice(start, end), isQuoted: true, by };
  }
  if (by === 'comma' || by === 'call') return null;
  if (by === 'element') return elementValue(text, at);
  const scheme = reads(SCHEME, text, at)?.length ?? 0;
  const start = at + scheme;
  const isOnOwnLine =
    by === 'sign' && text.charAt(at - 1) === '=' && LINE_START.test(text.slice(Math.max(0, nameStart - 32), nameStart));
  const whole = isOnOwnLine ? reads(REST_OF_LINE, text, start) : null;
  if (whole !== null && !CODE_AFTER.test(whole))
    return { start, end: start + whole.length, value: whole, isQuoted: false, by };
  const bare = reads(BARE, text, start);
  // A name of something else, with what is done with it.
  if (bare === null || CODE_AFTER.test(text.charAt(start + bare.length))) return null;
  const value = withoutSentenceEnd(bare);
  return { start, end: start + value.length, value, isQuoted: false, by };
}

function elementValue(text: string, start: number): Assigned | null {
  const after = text.slice(start, start + LITERAL_LENGTH_MAX + 1);
  const length = after.indexOf('<');
  if (length === -1) return null;
  const value = after.slice(0, length).trimEnd();
  return { start, end: start + value.length, value, isQuoted: true, by: 'element' };
}

/** The full stop or comma of a sentence does not belong to the value. A password may end in `!` or `?`, so the first of these stays. */
function withoutSentenceEnd(text: string): string {
  const end = startOfTrailing(text, '.,:;!?)]');
  return text.slice(0, '!?'.includes(text.charAt(end) || ' ') ? end + 1 : end);
}
