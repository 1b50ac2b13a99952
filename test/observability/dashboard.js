// Checks the dashboard's JSON against the types of @grafana/schema, and the check
// against dashboards with one mistake each.

import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import ts from 'typescript';

const here = import.meta.dirname;
const build = join(here, 'build');

/** Each makes one mistake in a dashboard. */
const mistakes = {
  'no title': (d) => delete d.panels.find((p) => p.type === 'stat').title,
  'an unknown kind of panel': (d) => (d.panels.find((p) => p.type === 'gauge').type = 'gague'),
  'an unknown option': (d) => (d.panels.find((p) => p.type === 'stat').options.colourMode = 'value'),
  'an unknown value of an option': (d) => (d.panels.find((p) => p.type === 'timeseries').options.tooltip.mode = 'many'),
  'an option of another kind of panel': (d) => (d.panels.find((p) => p.type === 'heatmap').options.sizing = 'auto'),
  'no unit': (d) => delete d.panels.find((p) => p.type === 'timeseries').fieldConfig.defaults.unit,
  'a threshold that is a text': (d) => (d.panels.find((p) => p.type === 'stat').fieldConfig.defaults.thresholds.steps[0].value = '1'),
  'an unknown mode of thresholds': (d) => (d.panels.find((p) => p.type === 'stat').fieldConfig.defaults.thresholds.mode = 'relative'),
  'an unknown line style': (d) => (d.panels.find((p) => p.type === 'timeseries').fieldConfig.defaults.custom.drawStyle = 'dots'),
  'a query without expression': (d) => delete d.panels.find((p) => p.type === 'timeseries').targets[0].expr,
  'a wrong variable': (d) => (d.templating.list[1].type = 'choice'),
  'no schema version': (d) => delete d.schemaVersion,
};

const source = (dashboard) =>
  `import type { DashboardJSON } from '../dashboard.types.js';\nexport const dashboard: DashboardJSON = ${JSON.stringify(dashboard, null, 2)};\n`;

/** The problems of each file, as the compiler prints them. */
function compile(files) {
  const { config } = ts.readConfigFile(join(here, 'tsconfig.json'), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, here);
  const program = ts.createProgram(files, options);
  const general = [...program.getOptionsDiagnostics(), ...program.getGlobalDiagnostics()];
  if (general.length > 0) throw new Error(ts.formatDiagnostics(general, host));
  const own = program.getSourceFile(join(here, 'dashboard.types.ts'));
  const wrong = program.getSemanticDiagnostics(own);
  if (wrong.length > 0) throw new Error(ts.formatDiagnostics(wrong, host));
  return files.map((file) => {
    const parsed = program.getSourceFile(file);
    return [...program.getSyntacticDiagnostics(parsed), ...program.getSemanticDiagnostics(parsed)];
  });
}

const host = { getCanonicalFileName: (name) => name, getCurrentDirectory: () => here, getNewLine: () => '\n' };

/** Throws unless the dashboard is right, and every mistake is found. */
export async function checkDashboard(file) {
  const text = await readFile(file, 'utf8');
  await rm(build, { recursive: true, force: true });
  await mkdir(build);
  const files = [join(build, 'dashboard.ts')];
  await writeFile(files[0], source(JSON.parse(text)));
  for (const [i, make] of Object.values(mistakes).entries()) {
    const dashboard = JSON.parse(text);
    make(dashboard);
    files.push(join(build, `mistake-${i}.ts`));
    await writeFile(files[i + 1], source(dashboard));
  }
  const [problems, ...found] = compile(files);
  if (problems.length > 0) throw new Error(ts.formatDiagnostics(problems, host));
  const missed = Object.keys(mistakes).filter((_, i) => found[i].length === 0);
  if (missed.length > 0) throw new Error(`the types let pass: ${missed.join(', ')}`);
  return JSON.parse(text).panels.length;
}
