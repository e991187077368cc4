import type { Command } from 'commander';

/** What a command calls a field of its request, where that is not the name of the field. */
const fields = new WeakMap<Command, Readonly<Record<string, string>>>();

/** Names by which a refusal speaks of fields: `environment` of the request is `--stage` of the command line. */
export function nameFields(command: Command, names: Readonly<Record<string, string>>): Command {
  fields.set(command, names);
  return command;
}

/** The option or argument that a pointer into the request stands for. A field that no option sets keeps its own name. */
export function fieldName(pointer: string, command: Command | null): string {
  const path = pointer.replace(/^\/(body|query|path)\/?/, '');
  if (command === null || path === '') return path === '' ? 'The request' : path;
  const names = fields.get(command) ?? {};
  const known = (field: string) =>
    (Object.hasOwn(names, field) ? names[field] : undefined) ?? optionOrArgument(command, field);
  const parts = path.split('/');
  for (let length = parts.length; length > 0; length--) {
    const name = known(parts.slice(0, length).filter(isName).join('/'));
    const rest = parts.slice(length);
    // A member of a list is the whole list, and a field of a document has its place in that.
    if (name !== undefined) return rest.length === 0 ? name : `${name}, ${rest.join('/')}:`;
  }
  return known(parts.findLast(isName) ?? '') ?? path;
}

const isName = (part: string) => !/^\d+$/.test(part);

function optionOrArgument(command: Command, field: string): string | undefined {
  const long = `--${field.replaceAll('_', '-')}`;
  if (command.options.some((option) => option.long === long)) return long;
  const argument = command.registeredArguments.find((one) => one.name() === field.replaceAll('_', '-'));
  return argument === undefined ? undefined : `<${argument.name()}>`;
}
