import { type AboutNoun, type EndpointDeclaration, NOUN_GROUPS } from '../../kernel/endpoint/declaration.ts';

/** A noun with its endpoints, which is one page. */
export interface NounPage extends AboutNoun {
  /** The last segment of its address. */
  page: string;
  endpoints: readonly EndpointDeclaration[];
}

/** Every declared noun by its group, and within a group in the order of the features. */
export function nounPages(declarations: readonly EndpointDeclaration[]): NounPage[] {
  const byNoun = Map.groupBy(declarations, (e) => e.noun);
  const pages = [...byNoun].map(([noun, endpoints]) => ({
    ...aboutNoun(noun, endpoints),
    page: slug(noun),
    endpoints,
  }));
  return NOUN_GROUPS.flatMap((group) => pages.filter((page) => page.group === group));
}

function aboutNoun(noun: string, endpoints: readonly EndpointDeclaration[]): AboutNoun {
  const about = endpoints.find((e) => e.aboutNoun !== undefined)?.aboutNoun;
  if (about === undefined) throw new Error(`no endpoint describes the noun ${noun}: give one of them aboutNoun`);
  return about;
}

function slug(noun: string): string {
  return noun.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
}
