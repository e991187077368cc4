const counts = new Uint32Array(128);

/** The bits of information of one character, estimated from how often each occurs in the text itself. */
export function entropyOf(text: string): number {
  counts.fill(0);
  let others: Map<number, number> | null = null;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < 128) counts[code] = (counts[code] ?? 0) + 1;
    else {
      others ??= new Map();
      others.set(code, (others.get(code) ?? 0) + 1);
    }
  }
  let bits = 0;
  const add = (count: number) => {
    if (count > 0) bits -= (count / text.length) * Math.log2(count / text.length);
  };
  for (const count of counts) add(count);
  for (const count of others?.values() ?? []) add(count);
  return bits;
}
