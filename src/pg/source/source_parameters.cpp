#include "pg/source/source_parameters.hpp"

#include "pg/bridge/nodes.hpp"
#include "pg/source/analysis.hpp"

extern "C" {
#include "mb/pg_wchar.h"
}

namespace btml::pg {

namespace {

bool collect_parameters(Node* node, void* context) {
    if (!node) return false;
    List*& parameters = *static_cast<List**>(context);
    if (!IsA(node, ParamRef)) return btml_compat_walk_raw(node, collect_parameters, context);
    parameters = lappend(parameters, node);
    return false;
}

int by_place(const ListCell* a, const ListCell* b) {
    return lfirst_node(ParamRef, a)->location - lfirst_node(ParamRef, b)->location;
}

[[noreturn]] void refuse_parameter(const ParamRef* parameter, const char* sql, int values, const char* name) {
    const int position = pg_mbstrlen_with_len(sql, parameter->location) + 1;
    if (parameter->number < 1)
        ereport(ERROR, (errcode(ERRCODE_UNDEFINED_PARAMETER), errposition(position),
                        errmsg("%s has a parameter $%d", name, parameter->number), errhint("The first one is $1.")));
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_PARAMETER), errposition(position),
                    errmsg("%s has a parameter $%d, but args has %d value%s", name, parameter->number, values,
                           values == 1 ? "" : "s"),
                    errhint("Give the values of $1, $2, ... as texts: args => ARRAY['...', '...'].")));
    pg_unreachable();
}

// A value that is being read, for the context of errors, in which nothing is looked up.
struct ReadValue {
    int number;
    const char* type;
};

void tell_of_value(void* context) {
    const auto* const value = static_cast<const ReadValue*>(context);
    errcontext("value of parameter $%d, of type %s", value->number, value->type);
}

Const* constant_of(char* text, int number, Oid type) {
    ReadValue value{number, format_type_be(type)};
    ErrorContextCallback callback{error_context_stack, tell_of_value, &value};
    error_context_stack = &callback;
    Oid input, element;
    int16 length;
    bool by_value;
    getTypeInputInfo(type, &input, &element);
    get_typlenbyval(type, &length, &by_value);
    // The input function of a domain looks at NULL as well.
    const Datum datum = OidInputFunctionCall(input, text, element, -1);
    error_context_stack = callback.previous;
    return makeConst(type, -1, get_typcollation(type), length, datum, !text, by_value);
}

// constants: of Const*, one for each parameter.
Node* put_constants(Node* node, void* constants) {
    if (!node) return nullptr;
    if (IsA(node, Query)) return as_node(btml_compat_mutate_query(castNode(Query, node), put_constants, constants, 0));
    if (!IsA(node, Param) || castNode(Param, node)->paramkind != PARAM_EXTERN)
        return btml_compat_mutate(node, put_constants, constants);
    const Param* const parameter = castNode(Param, node);
    Const* const constant = copy_of(list_nth_node(Const, static_cast<List*>(constants), parameter->paramid - 1));
    constant->location = parameter->location;
    return as_node(constant);
}

// Says what to do where PostgreSQL does not find out of what type a parameter is.
void tell_how_to_type(void*) {
    const int code = geterrcode();
    if (code == ERRCODE_INDETERMINATE_DATATYPE || code == ERRCODE_AMBIGUOUS_PARAMETER)
        errhint("Say of what type the parameter is, as in $1::integer.");
}

// Leaves the types of those parameters to the statement that are InvalidOid.
List* analysed_with_types(RawStmt* statement, const char* sql, Oid** types, int count) {
    ErrorContextCallback callback{error_context_stack, tell_how_to_type, nullptr};
    error_context_stack = &callback;
    List* const queries = pg_analyze_and_rewrite_varparams(statement, sql, types, &count, nullptr);
    error_context_stack = callback.previous;
    return queries;
}

// Writes the constants where the parameters stand: an expression that means the same wherever a parameter may be.
const char* text_with_values(const char* sql, List* parameters, List* args, const Oid* types) {
    StringInfoData text;
    initStringInfo(&text);
    const char* rest = sql;
    for (const ParamRef* const parameter : items<const ParamRef>(parameters)) {
        const char* const mark = sql + parameter->location;
        appendBinaryStringInfo(&text, rest, static_cast<int>(mark - rest));
        const auto* const value = static_cast<const char*>(list_nth(args, parameter->number - 1));
        appendStringInfo(&text, "(CAST(%s AS %s))", value ? quote_literal_cstr(value) : "NULL",
                         format_type_extended(types[parameter->number - 1], -1,
                                              FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY));
        rest = mark + 1 + strspn(mark + 1, "0123456789");
    }
    appendStringInfoString(&text, rest);
    return text.data;
}

std::string counted(size_t count, const char* what) {
    return format("%zu %s%s", count, what, count == 1 ? "" : "s");
}

} // namespace

List* parameters_in(const RawStmt* select) {
    List* parameters = NIL;
    collect_parameters(select->stmt, &parameters);
    list_sort(parameters, by_place);
    return parameters;
}

void require_values(const List* parameters, const char* sql, int values, const char* name) {
    for (const ParamRef* const parameter : items<const ParamRef>(parameters))
        if (parameter->number < 1 || parameter->number > values) refuse_parameter(parameter, sql, values, name);
}

List* analysed_with_values(RawStmt* statement, const char* sql, List* parameters, List* args, const char** text) {
    const int count = list_length(args);
    Oid* types = static_cast<Oid*>(palloc(sizeof(Oid) * static_cast<size_t>(count)));
    std::fill_n(types, count, TEXTOID); // of parameters that only other sources of the call have
    for (const ParamRef* const parameter : items<const ParamRef>(parameters)) types[parameter->number - 1] = InvalidOid;
    List* const queries = analysed_with_types(statement, sql, &types, count);
    List* constants = NIL;
    for (int i = 0; i < count; i++)
        constants = lappend(constants, constant_of(static_cast<char*>(list_nth(args, i)), i + 1, types[i]));
    *text = text_with_values(*text, parameters, args, types);
    return castNode(List, put_constants(as_node(queries), constants));
}

List* source_args(const NamedArguments& call, const std::vector<std::string>& sources) {
    if (call.is_null("args")) return NIL;
    const ArrayElements values = elements_of(call.datum("args"), TEXTOID, "args");
    List* args = NIL;
    pg_call([&] {
        for (size_t i = 0; i < values.values.size(); i++)
            args = lappend(args, values.nulls[i] ? nullptr : TextDatumGetCString(values.values[i]));
    });
    const auto count = static_cast<int>(values.values.size());
    const auto is_used = std::make_unique<bool[]>(values.values.size());
    for (const std::string& source : sources) {
        const char* const text = source.c_str();
        bool* const marks = is_used.get();
        if (count > 0 && !pg_call([=] { return mark_parameters(text, marks, count); })) return args;
    }
    const bool* const unused = std::find(is_used.get(), is_used.get() + count, false);
    if (unused == is_used.get() + count) return args;
    throw Error(ErrorCode::invalid_argument,
                format("args has %s, but %s", counted(values.values.size(), "value").c_str(),
                       (sources.size() == 1 ? "source has " : "the sources have ")) +
                    counted(static_cast<size_t>(std::count(is_used.get(), is_used.get() + count, true)), "parameter"),
                format("There is no $%td.", unused - is_used.get() + 1));
}

GivenSource given_source(const NamedArguments& call) {
    std::string text = call.string("source");
    List* const args = source_args(call, {text});
    return {std::move(text), args};
}

} // namespace btml::pg
