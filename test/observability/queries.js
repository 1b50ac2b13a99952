// Parses the Azure Monitor queries with Kusto's own language service, and analyzes
// them against the tables of a Log Analytics workspace.

import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const require = createRequire(import.meta.url);
require('@kusto/language-service-next/bridge.min.js');
require('@kusto/language-service-next/Kusto.Language.Bridge.min.js');
const { Kusto } = globalThis;

const common = 'TimeGenerated: datetime, AppRoleName: string, AppRoleInstance: string, Properties: dynamic';
const spans = `${common}, OperationId: string, Id: string, ParentId: string, Name: string, DurationMs: real, Success: bool`;
const tables = {
  AppMetrics: `(${common}, Name: string, Sum: real, Min: real, Max: real, ItemCount: int)`,
  AppDependencies: `(${spans}, Target: string, DependencyType: string)`,
  AppRequests: `(${spans}, Url: string, ResultCode: string)`,
  AppTraces: `(${common}, OperationId: string, ParentId: string, Message: string, SeverityLevel: int)`,
};

const symbols = Kusto.Language.Symbols;
const workspace = new symbols.DatabaseSymbol.ctor(
  'workspace',
  Object.entries(tables).map(([name, columns]) => symbols.TableSymbol.From(columns).WithName(name)),
);
const globals = Kusto.Language.GlobalState.Default.WithDatabase(workspace);

/** The problems of a query. */
function problemsOf(text) {
  const found = Kusto.Language.KustoCode.ParseAndAnalyze(text, globals).GetDiagnostics();
  return Array.from({ length: found.Count }, (_, i) => found.getItem(i)).map((d) => `${d.Severity} at ${d.Start}: ${d.Message}`);
}

/** Each has one mistake. */
const mistakes = [
  'AppMetrics | where Name = "x"',
  'AppMetrics | wehre Name == "x"',
  'AppMetrics | where Nmae == "x"',
  'AppMetric | count',
  'AppMetrics | summarize median(Sum',
  'AppMetrics | extend x = toduration(Sum)',
];

/** Throws unless all queries are right, and every mistake is found. */
export async function checkQueries(folder) {
  const missed = mistakes.filter((text) => problemsOf(text).length === 0);
  if (missed.length > 0) throw new Error(`the parser lets pass: ${missed.join('; ')}`);
  const files = (await readdir(folder)).filter((name) => name.endsWith('.kql'));
  if (files.length === 0) throw new Error(`${folder} has no queries`);
  for (const name of files) {
    const problems = problemsOf(await readFile(join(folder, name), 'utf8'));
    if (problems.length > 0) throw new Error(`${name}: ${problems.join('; ')}`);
  }
  return files.length;
}
