// The type of a dashboard's JSON: that of @grafana/schema, with the options and the
// custom field settings of each kind of panel that is used, and without room for
// anything else. A string of JSON stands for the enum's value that it equals.

import type { AnnotationQuery, Dashboard, FieldConfig, Panel, RowPanel } from '@grafana/schema';
import type { Options as GaugeOptions } from '@grafana/schema/dist/esm/raw/composable/gauge/panelcfg/x/GaugePanelCfg_types.gen';
import type {
  FieldConfig as HeatmapField,
  Options as HeatmapOptions,
} from '@grafana/schema/dist/esm/raw/composable/heatmap/panelcfg/x/HeatmapPanelCfg_types.gen';
import type { Options as StatOptions } from '@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen';
import type {
  FieldConfig as TimeSeriesField,
  Options as TimeSeriesOptions,
} from '@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen';

type JSONOf<T> = T extends string
  ? `${T}`
  : T extends number | boolean | null | undefined
    ? T
    : T extends (infer E)[]
      ? JSONOf<E>[]
      : { [K in keyof T]: JSONOf<T[K]> };

interface PrometheusTarget {
  refId: string;
  datasource: { type: 'prometheus'; uid: '${datasource}' };
  expr: string;
  legendFormat: string;
  instant?: boolean;
  range: boolean;
  format?: 'heatmap' | 'table' | 'time_series';
}

interface PanelOf<Kind extends string, Options, Custom> {
  id: number;
  type: Kind;
  title: string;
  description: string;
  gridPos: JSONOf<NonNullable<Panel['gridPos']>>;
  datasource: PrometheusTarget['datasource'];
  fieldConfig: {
    defaults: JSONOf<Omit<FieldConfig, 'custom'>> & { unit: string; custom?: JSONOf<Custom> };
    overrides: JSONOf<NonNullable<Panel['fieldConfig']>['overrides']>;
  };
  options: JSONOf<Options>;
  targets: PrometheusTarget[];
}

type OurPanel =
  | JSONOf<RowPanel>
  | PanelOf<'stat', StatOptions, never>
  | PanelOf<'gauge', GaugeOptions, never>
  | PanelOf<'heatmap', HeatmapOptions, HeatmapField>
  | PanelOf<'timeseries', TimeSeriesOptions, TimeSeriesField>;

type OurAnnotation = Omit<JSONOf<AnnotationQuery>, 'target'> & { target: PrometheusTarget };

export type DashboardJSON = Omit<JSONOf<Dashboard>, 'annotations' | 'panels'> & {
  annotations: { list: OurAnnotation[] };
  panels: OurPanel[];
};
