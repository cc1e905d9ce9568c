"""Complete words of a command line for bash, zsh and fish: subcommands, options and their values.

The values of an option or argument follow from the metavar in its help: stories, gates, rules, contexts, files. bash
sends its line and the word as it sees it, because it breaks words at `=` and `:`; zsh and fish send words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

FILES, DIRECTORIES = "file", "dir"


class Choice(NamedTuple):
    """A word, or with `kind` files or directories, which the shell completes by itself."""

    value: str
    text: str = ""
    kind: str = ""


def choices_of(param: click.Parameter, context: click.Context, incomplete: str) -> list[Choice]:
    """Return the values of a parameter that begin with the incomplete word; empty if it takes any text."""
    metavar = (param.metavar or "").strip("[].")
    begun, _, word = incomplete.rpartition(",")  # lists are completed at their last element
    source = _clusters if param.name == "name" else _SOURCES.get(metavar)
    if source is not None:
        prefix = f"{begun}," if begun and metavar.endswith(",") else ""
        word = word if prefix or not begun else incomplete
        choices = [choice._replace(value=prefix + choice.value) for choice in source(context, word)]
    else:
        choices = [_from_click(item) for item in param.shell_complete(context, incomplete)]
    if "FILE" in metavar or metavar == "DIRECTORY":
        choices.append(Choice("", kind=FILES if "FILE" in metavar else DIRECTORIES))
    return [choice for choice in choices if choice.kind or choice.value.startswith(incomplete)]


def _from_click(item: CompletionItem[str]) -> Choice:
    if item.type in (FILES, DIRECTORIES):
        return Choice("", kind=item.type)
    return Choice(str(item.value), item.help or "")


def _gates(_context: click.Context, word: str) -> Iterable[Choice]:
    """Return gates with `=`, the groups AllAlpha and AllBeta too; after it the two values."""
    name, has_value, _ = word.partition("=")
    if has_value:
        return [Choice(f"{name}=true"), Choice(f"{name}=false")]
    groups = [Choice("AllAlpha=", "all alpha gates"), Choice("AllBeta=", "all beta gates")]
    return [*groups, *(choice._replace(value=f"{choice.value}=") for choice in _gate_names(_context, word))]


def _gate_names(_context: click.Context, _word: str) -> Iterable[Choice]:
    from moorage.model.gates import GATES

    return [Choice(gate.name, f"{gate.stage.value}, {'on' if gate.default else 'off'} by default") for gate in GATES]


def _rules(_context: click.Context, _word: str) -> Iterable[Choice]:
    from moorage.lint.pages import listed_rules

    return [Choice(rule.name, rule.summary) for rule in listed_rules()]


def _contexts(context: click.Context, _word: str) -> Iterable[Choice]:
    from moorage.client.kubeconfig.access import KubeconfigError
    from moorage.client.kubeconfig.loading import context_names

    try:
        return [Choice(name) for name in context_names(str(context.params.get("kubeconfig") or ""))]
    except KubeconfigError:
        return []


def _clusters(_context: click.Context, _word: str) -> Iterable[Choice]:
    from moorage.cluster.kept.kept_cluster import all_clusters

    return [Choice(cluster.name, str(cluster.directory)) for cluster in all_clusters() if cluster.name]


def _stories(_context: click.Context, _word: str) -> Iterable[Choice]:
    from moorage.demo.story import NoSuchStory, StoryError, all_stories, default_shelf

    try:
        stories = [Choice(shelved.story.name, shelved.story.title) for shelved in all_stories(default_shelf())]
    except (NoSuchStory, StoryError):
        stories = []
    return [*stories, Choice("", kind=DIRECTORIES)]


def _controllers(_context: click.Context, word: str) -> Iterable[Choice]:
    from moorage.control.registry import chosen

    names = [row.name for row in chosen(("*",), simulated=True)]
    if word.startswith("-"):
        return [Choice(f"-{name}", "all but this one") for name in names]
    return [Choice(name) for name in names]


def _commands(context: click.Context, _word: str) -> Iterable[Choice]:
    """Return the commands of `moorage help`, or those below the ones that are named already."""
    root = context.find_root()
    command: click.Command | None = root.command
    for name in context.params.get("names") or ():
        command = command.get_command(root, name) if isinstance(command, click.Group) else None
    if not isinstance(command, click.Group):
        return []
    return [Choice(name) for name in command.list_commands(root)]


#: By metavar, without the brackets and dots around it.
_SOURCES: dict[str, Callable[[click.Context, str], Iterable[Choice]]] = {
    "NAME=BOOL,": _gates,
    "GATE": _gate_names,
    "RULE,": _rules,
    "RULE": _rules,
    "CONTEXT": _contexts,
    "CONTEXT|FILE": _contexts,
    "STORY": _stories,
    "CONTROLLER,": _controllers,
    "COMMAND": _commands,
}


def complete(root: click.Command, program: str, words: list[str], incomplete: str) -> list[Choice]:
    """Return what may stand for the incomplete word after the given words."""
    found_context = _context(root, program, words)
    if found_context is None:
        return []
    context, rest_are_arguments = found_context
    option, equals, value = incomplete.partition("=")
    if equals and option.startswith("--") and not rest_are_arguments:
        param = _option(context, option)
        if param is None or param.is_flag:
            return []
        return [
            choice if choice.kind else choice._replace(value=f"{option}={choice.value}")
            for choice in choices_of(param, context, value)
        ]
    if not rest_are_arguments:
        if words and (waiting := _option(context, words[-1])) is not None and not waiting.is_flag:
            return choices_of(waiting, context, incomplete)
        if incomplete.startswith("-") and incomplete != "-":
            return _options(context, incomplete)
    found_words = _arguments(context, incomplete)
    return found_words or ([] if rest_are_arguments else _options(context, incomplete))


def _context(root: click.Command, program: str, words: list[str]) -> tuple[click.Context, bool] | None:
    """Return the innermost command's context, and whether only arguments follow; None if there is no such command."""
    command, name, parent, rest = root, program, None, list(words)
    while True:
        context = command.make_context(name, [], parent=parent, resilient_parsing=True)
        position = _first_argument(context, rest)
        if not isinstance(command, click.Group) or position >= len(rest):
            break
        below = command.get_command(context, rest[position])
        if below is None:
            return None
        command, name, parent, rest = below, rest[position], context, rest[position + 1 :]
    waiting = _option(context, rest[-1]) if rest else None
    given = rest[:-1] if waiting is not None and not waiting.is_flag else rest
    context = command.make_context(name, list(given), parent=parent, resilient_parsing=True)
    return context, "--" in given


def _first_argument(context: click.Context, words: list[str]) -> int:
    """Return the position of the first word that is neither an option nor an option's value."""
    position = 0
    while position < len(words) and words[position].startswith("-"):
        option = _option(context, words[position])
        position += 2 if option is not None and not option.is_flag else 1
    return position


def _option(context: click.Context, name: str) -> click.Option | None:
    """Return the option of that name which takes a value or is a flag."""
    for param in context.command.get_params(context):
        if isinstance(param, click.Option) and name in (*param.opts, *param.secondary_opts):
            return param
    return None


def _options(context: click.Context, incomplete: str) -> list[Choice]:
    """Return the options that are not given yet, or may be given again."""
    from click.core import ParameterSource

    choices = []
    for param in context.command.get_params(context):
        if not isinstance(param, click.Option) or param.hidden:
            continue
        given = context.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE
        if given and not param.multiple:
            continue
        names = [name for name in (*param.opts, *param.secondary_opts) if name.startswith(incomplete)]
        long = [name for name in names if name.startswith("--")]
        text = " ".join((param.help or "").split())
        choices += [Choice(name, text) for name in long or names]
    return choices


def _arguments(context: click.Context, incomplete: str) -> list[Choice]:
    command = context.command
    if isinstance(command, click.Group):
        return [Choice(str(item.value), item.help or "") for item in command.shell_complete(context, incomplete)]
    for param in command.get_params(context):
        if isinstance(param, click.Argument) and (param.nargs == -1 or not context.params.get(param.name or "")):
            return choices_of(param, context, incomplete)
    return []


_UNSAFE = re.compile(r"([^\w./:=@%+,~-])", re.ASCII)
_LIST_FILES, _LIST_DIRECTORIES, _NO_SPACE, _WORD = "file", "dir", "nospace", "word"

SCRIPTS = {
    "bash": """\
# Completion of moorage for bash. Try it:   source <(moorage completion bash)
# For good:   moorage completion bash > ~/.local/share/bash-completion/completions/moorage
_moorage() {
    local kind value found
    COMPREPLY=()
    while IFS=$'\\t' read -r kind value; do
        case $kind in
            word) COMPREPLY+=("$value") ;;
            nospace) compopt -o nospace 2>/dev/null ;;
            file | dir)
                compopt -o filenames 2>/dev/null
                while IFS= read -r found; do
                    COMPREPLY+=("$found")
                done < <(if [[ $kind == dir ]]; then compgen -d -- "$value"; else compgen -f -- "$value"; fi)
                ;;
        esac
    done < <("${1/#\\~/$HOME}" __complete bash "$COMP_LINE" "$COMP_POINT" "$2" 2>/dev/null)
}
complete -F _moorage moorage
""",
    "zsh": """\
#compdef moorage
# Completion of moorage for zsh. Try it, after compinit:   source <(moorage completion zsh)
# For good, in a directory of $fpath:   moorage completion zsh > "${fpath[1]}/_moorage"
_moorage() {
    local kind value text files
    local -a complete open
    while IFS=$'\\t' read -r kind value text; do
        case $kind in
            file | dir) files=$kind ;;
            word)
                value=${value//:/\\\\:}
                if [[ $value == *= ]]; then
                    open+=("$value${text:+:$text}")
                else
                    complete+=("$value${text:+:$text}")
                fi
                ;;
        esac
    done < <(${~words[1]} __complete zsh ${(Q)words[2,CURRENT-1]} "${(Q)PREFIX}" 2>/dev/null)
    (( $#open )) && _describe -V value open -S ''
    (( $#complete )) && _describe -V value complete
    if [[ -n $files ]]; then
        [[ $PREFIX == --*=* ]] && compset -P '*='
        if [[ $files == dir ]]; then _files -/; else _files; fi
    fi
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _moorage "$@"
else
    compdef _moorage moorage
fi
""",
    "fish": """\
# Completion of moorage for fish. Try it:   moorage completion fish | source
# For good:   moorage completion fish > ~/.config/fish/completions/moorage.fish
function __moorage_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for line in (command $words[1] __complete fish $words[2..-1] "$current" 2>/dev/null)
        set -l fields (string split \\t -- $line)
        switch $fields[1]
            case word
                printf '%s\\t%s\\n' "$fields[2]" "$fields[3]"
            case file dir
                set -l prefix (string match -r -- '^--[^=]*=' "$current")
                set -l path (string replace -r -- '^--[^=]*=' '' "$current")
                set -l found
                if test $fields[1] = dir
                    set found (__fish_complete_directories "$path" '')
                else
                    set found (__fish_complete_path "$path")
                end
                for file in $found
                    printf '%s\\n' "$prefix$file"
                end
        end
    end
end
complete -c moorage -k -f -a '(__moorage_complete)'
""",
}


def answer(choices: list[Choice]) -> Iterator[str]:
    """Yield the lines that zsh and fish read."""
    for choice in choices:
        yield choice.kind or "\t".join((_WORD, choice.value, " ".join(choice.text.split())))


def answer_bash(choices: list[Choice], incomplete: str, quote: str, seen: str) -> Iterator[str]:
    """Yield the lines that bash reads; `seen` is the end of the incomplete word that readline will replace."""
    kept = len(incomplete) - len(seen) if seen and incomplete.endswith(seen) else _after_break(incomplete, quote)
    words = [choice.value for choice in choices if not choice.kind]
    for word in words:
        rest = word[kept:]
        yield f"{_WORD}\t{rest if quote else _UNSAFE.sub(_escaped, rest)}"
    if words and all(word.endswith("=") for word in words):
        yield _NO_SPACE
    for choice in choices:
        if choice.kind:
            yield f"{choice.kind}\t{incomplete[kept:]}"


def _escaped(broken: re.Match[str]) -> str:
    return f"\\{broken[1]}"


def _after_break(word: str, quote: str) -> int:
    """Return where readline begins a new word: after the last `=` or `:`, unless it is quoted."""
    return 0 if quote else max(word.rfind("="), word.rfind(":"), word.rfind("@")) + 1


def split_line(line: str, point: int) -> tuple[list[str], str, str]:
    """Split the line before the cursor: whole words, the incomplete last one, and the quote that is open in it."""
    words: list[str] = []
    word, begun, quote = "", False, ""
    characters = iter(line[:point])
    for character in characters:
        if quote and character == quote:
            quote = ""
        elif quote == "'" or (quote and character != "\\"):
            word += character
        elif character == "\\":
            word, begun = word + next(characters, ""), True
        elif character in "'\"":
            quote, begun = character, True
        elif character.isspace():
            if begun:
                words.append(word)
            word, begun = "", False
        else:
            word, begun = word + character, True
    return words, word, quote
