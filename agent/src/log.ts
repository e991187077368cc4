export type Facts = Record<string, string | number | boolean | undefined>;

/** One JSON object a line, on standard error. Facts are names and numbers; nothing that is secret is passed here. */
export interface Log {
  info(message: string, facts?: Facts): void;
  warn(message: string, facts?: Facts): void;
  error(message: string, facts?: Facts): void;
}

export function newLog(write: (line: string) => void = (line) => process.stderr.write(line)): Log {
  const at =
    (level: string) =>
    (message: string, facts: Facts = {}) =>
      write(`${JSON.stringify({ level, time: new Date().toISOString(), msg: message, ...facts })}\n`);
  return { info: at('info'), warn: at('warn'), error: at('error') };
}
