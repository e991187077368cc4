import type { Setting, ValuesOf } from './setting.ts';
import type { Values } from './settings.ts';

/** Settings that belong together, such as those of a feature, and what is made of them. */
export interface SettingGroup<C = unknown> {
  readonly settings: readonly Setting[];
  /** What is wrong with those that were given: they contradict each other, need another one, or have no effect. Invalid ones have no value here. */
  conflicts(given: ReadonlySet<string>, values: Readonly<Record<string, unknown>>): readonly string[];
  build(values: Readonly<Record<string, unknown>>): C;
  /** Whether a process that runs takes over what was made anew because of this setting. */
  canReload(name: string, before: C, next: C): boolean;
}

interface GroupDeclaration<List extends readonly Setting[], C> {
  readonly settings: List;
  conflicts?(given: ReadonlySet<string>, values: Partial<ValuesOf<List> & Values>): readonly string[];
  /** Of its own values and those of the service itself. */
  build(values: ValuesOf<List> & Values): C;
  /** By the names of the settings that can be replaced while the process runs. All others need a restart. */
  readonly reloads?: Partial<Record<List[number]['name'], (before: C, next: C) => boolean>>;
}

export function settingGroup<const List extends readonly Setting[], C>(
  declared: GroupDeclaration<List, C>,
): SettingGroup<C> {
  const reloads = new Map<string, (before: C, next: C) => boolean>(Object.entries(declared.reloads ?? {}));
  return {
    settings: declared.settings,
    conflicts: (given, values) => declared.conflicts?.(given, values as Partial<ValuesOf<List> & Values>) ?? [],
    build: (values) => declared.build(values as ValuesOf<List> & Values),
    canReload: (name, before, next) => reloads.get(name)?.(before, next) === true,
  };
}
