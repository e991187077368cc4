/** What the name of a file says about what is in it. */
export interface FileContext {
  /** A value without quotes is a name of something else. */
  readonly isCode: boolean;
  /** Everything in it looks random, since it lists digests or was made by a program. */
  readonly hasDigests: boolean;
  readonly name: string;
}

const CODE_FILE =
  /\.(?:[cm]?[jt]sx?|py|go|rs|java|kts?|cs|cpp|cc|c|h|hpp|rb|php|swift|scala|dart|lua|pl|pm|ex|exs|erl|hs|clj|vue|svelte|sql|md|mdx|rst|adoc|html?|css|scss|s|m|mm|groovy|jl|r|nim|zig|f90|el|vim|proto|thrift|graphql)$/i;

/** Files of digests, where everything looks random. */
const DIGESTS =
  /(?:^|\/)(?:package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|deno\.lock|go\.(?:work\.)?sum|Cargo\.lock|poetry\.lock|pdm\.lock|uv\.lock|Pipfile\.lock|Gemfile\.lock|composer\.lock|mix\.lock|flake\.lock|Podfile\.lock|packages\.lock\.json|pubspec\.lock|Package\.resolved|\.terraform\.lock\.hcl)$|\.(?:min\.(?:[cm]?js|css)|map|svg|sum|sha\d+|po|ipynb|tsbuildinfo)$/i;

/** Of a text that is in no file, such as a question, nothing is known. */
export function contextOf(file: string | null): FileContext {
  if (file === null) return { isCode: false, hasDigests: false, name: '' };
  return { isCode: CODE_FILE.test(file), hasDigests: DIGESTS.test(file), name: file.slice(file.lastIndexOf('/') + 1) };
}
