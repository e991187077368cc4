// A workspace holds TypeScript, which Node does not load from node_modules; `npm run build:packages` writes what can be installed.
process.stderr.write('Run `npm run build:packages`, then `npm pack` in a folder of dist/packages.\n');
process.exit(1);
