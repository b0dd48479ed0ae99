-- Pictures of what queries return.

CREATE FUNCTION btml.plot(source text, mark text DEFAULT 'line', title text DEFAULT NULL, x_label text DEFAULT NULL,
    y_label text DEFAULT NULL, x_scale text DEFAULT 'linear', y_scale text DEFAULT 'linear', width numeric DEFAULT 640,
    height numeric DEFAULT 400, args text[] DEFAULT NULL) RETURNS text
LANGUAGE C VOLATILE CALLED ON NULL INPUT AS 'MODULE_PATHNAME', 'btml_plot';
COMMENT ON FUNCTION btml.plot(text, text, text, text, text, text, text, numeric, numeric, text[]) IS
'a picture of the rows of a source as SVG in ASCII: columns x and y, which are numbers, times or categories; where wanted lower, upper, value, size (numbers), series, label, and mark, which overrides the argument; marks line, step, point, bar, area, band (x, lower, upper), heatmap (x, y, value), box; rows that cannot be drawn are counted in the picture; error 42703 for a column that the mark lacks or no picture has, 42804 for a type that cannot be drawn, 22023 for an option, 54000 for too many categories or series';
