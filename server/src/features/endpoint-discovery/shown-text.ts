/** Characters that a terminal or a browser obeys instead of showing them: C1 controls, line separators, and those that turn the direction of text. */
const OBEYED = /[\u0080-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Text from a host, which somebody else may control, as it can be shown anywhere. It is stored as it came, because a name says which account it is. */
export function shownText(text: string): string {
  return text.replaceAll(OBEYED, '\ufffd');
}

export function shownTextOrNull(text: string | null): string | null {
  return text === null ? null : shownText(text);
}
