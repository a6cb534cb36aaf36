# SPDX-License-Identifier: MIT
"""Reads the C files of a Visual Studio project (*.vcxproj) and the options of their compilation."""
import os
import re
import xml.etree.ElementTree as xml

from . import Trouble, read_file, wpp
from .macros import MAX_DEPTH, MAX_FILES, MAX_PROJECT, Substitution, equal
from .paths import find, match, names

MAX_CONDITION = 8192
MAX_UP = 8            # folders above the project's in which a solution and Directory.Build.props are looked for
ABOVE = r"\$\(\[MSBuild\]::(GetPathOfFileAbove|GetDirectoryNameOfFileAbove)\(([^()]*)\)\)"
# Properties that the kit and the toolset set: Windows 10, as in ntdef.h, and Visual Studio 2022.
KIT = {'_nt_target_version': '0x0A00', 'win32_winnt_version': '0x0A00', 'winver_version': '0x0A00',
       'ntddi_version': '0x0A000000', 'platformtoolsetversion': '143'}
# Settings of a compilation that ndk-cc uses. Others have no meaning here.
USED = {'PreprocessorDefinitions', 'AdditionalIncludeDirectories', 'ForcedIncludeFiles', 'ExcludedFromBuild',
        'WppTraceFunction', 'WppAdditionalOptions', 'AdditionalOptions', 'UndefinePreprocessorDefinitions',
        'LanguageStandard', 'ExceptionHandling'}
STANDARD = 'gnu++17'
STANDARDS = {'stdcpp20': 'gnu++20', 'stdcpplatest': 'gnu++2b'}  # values of LanguageStandard


class Tree(xml.TreeBuilder):
    def doctype(self, name, *_):
        """Refuses a document type, which no project needs: its entities could name files and grow without limit."""
        raise Trouble(f'a project file with a document type ({name})')


def parse(path):
    try:
        return xml.fromstring(read_file(path, MAX_PROJECT), parser=xml.XMLParser(target=Tree()))
    except (xml.ParseError, LookupError, ValueError) as error: # the latter two: an unknown encoding
        raise Trouble(f'{path} is not XML: {error}') from None


def above(folder, matches):
    """Returns the first file that matches(folder) returns for the folder or one above it, or None."""
    for _ in range(MAX_UP):
        found = matches(folder)
        if found:
            return found
        if os.path.dirname(folder) == folder:
            break
        folder = os.path.dirname(folder)
    return None


def solution(folder):
    """Returns the solution (*.sln) in the folder, or None."""
    found = sorted(name for lower, name in names(folder).items() if lower.endswith(('.sln', '.slnx')))
    return os.path.join(folder, found[0]) if found else None


def named(name):
    """Returns a function that finds the file of this name in a folder."""
    def matches(folder):
        path = find(folder, name)
        return path if path and os.path.isfile(path) else None
    return matches


class Evaluator:
    """Reads elements in order, as MSBuild does: properties, conditions, and imports that exist in the tree."""

    def __init__(self, project, configuration):
        self.project = project
        name, _, platform = configuration.partition('|')
        of = above(project.folder, solution)
        self.properties = {'configuration': name, 'platform': platform or 'x64', 'projectdir': project.folder + '/',
                           'projectname': project.name, 'solutionname': os.path.splitext(os.path.basename(of or ''))[0],
                           'solutiondir': os.path.dirname(of) + '/' if of else project.folder + '/',
                           'msbuildprojectdirectory': project.folder, 'msbuildprojectname': project.name}
        self.fixed = set(self.properties)
        self.properties.update(KIT)
        self.ignored = set()
        self.compiled, self.references, self.metadata, self.seen = [], [], {}, set()
        self.assembly = []
        self.substitution, self.depth = Substitution(), 0

    def expand(self, text):
        """Returns the text with $(NAME) replaced for each known property. Does not change other $(NAME)."""
        def value(found):
            return self.properties.get(found.group(1).lower(), found.group(0))
        text = self.substitution.put(r'\$\(([\w.]+)\)', text or '', value)
        return self.substitution.put(ABOVE, text, self.file_above) if '[MSBuild]' in text else text

    def file_above(self, call):
        """Evaluates GetPathOfFileAbove(file, folder) and GetDirectoryNameOfFileAbove(folder, file)."""
        arguments = [argument.strip().strip("'\"") for argument in call.group(2).split(',')]
        of_path = call.group(1).lower() == 'getpathoffileabove'
        if not of_path:
            arguments.reverse()
        folder = find(self.folder, arguments[1]) if len(arguments) > 1 else self.folder
        path = above(folder, named(arguments[0])) if folder and arguments[0] else None
        return (path if of_path else os.path.dirname(path)) if path else ''

    def is_true(self, element):
        condition = element.get('Condition')
        if not condition:
            return True
        text = self.expand(condition)
        if len(text) > MAX_CONDITION:
            raise Trouble(f'a condition of more than {MAX_CONDITION} characters: {text[:60]}...')
        text = re.sub(r'\$\([^)]*\)', '', text).strip()
        return any(all(self.term(term.strip()) for term in re.split(r'(?i)\band\b', either))
                   for either in re.split(r'(?i)\bor\b', text))

    def term(self, term):
        exists = re.fullmatch(r"(?i)(!?)\s*exists\('(.*)'\)", term)
        if exists:
            there = find(self.folder, exists.group(2)) is not None
            return there != bool(exists.group(1))
        return bool(equal(term))

    def read(self, path):
        if path in self.seen:
            return
        self.seen.add(path)
        if len(self.seen) > MAX_FILES:
            raise Trouble(f'the project imports more than {MAX_FILES} files')
        root = parse(path)
        before = getattr(self, 'folder', None)
        self.enter(os.path.dirname(path))
        self.children(root)
        if before:
            self.enter(before)

    def enter(self, folder):
        self.folder = folder
        self.properties['msbuildthisfiledirectory'] = folder + '/'

    def children(self, parent):
        if self.depth == MAX_DEPTH:
            raise Trouble(f'{self.folder}: imports or elements are nested more than {MAX_DEPTH} deep')
        self.depth += 1
        self.each_child(parent)
        self.depth -= 1

    def each_child(self, parent):
        for element in parent:
            if not isinstance(element.tag, str) or not self.is_true(element):
                continue
            tag = element.tag.rpartition('}')[2]
            if tag == 'PropertyGroup':
                self.property_group(element)
            elif tag == 'Import':
                written = self.expand(element.get('Project', ''))
                path = None if '$(' in written else find(self.folder, written)
                if path and os.path.isfile(path):
                    self.read(path)
            elif tag == 'ImportGroup':
                self.children(element)
            elif tag == 'ItemDefinitionGroup':
                for item in element:
                    if isinstance(item.tag, str) and item.tag.endswith('}ClCompile') and self.is_true(item):
                        self.read_metadata(item, self.metadata)
            elif tag == 'ItemGroup':
                self.item_group(element)

    def property_group(self, group):
        for element in group:
            if isinstance(element.tag, str) and self.is_true(element):
                name = element.tag.rpartition('}')[2].lower()
                if name not in self.fixed:
                    self.properties[name] = self.expand(element.text).strip()

    def read_metadata(self, item, into):
        for element in item:
            if not isinstance(element.tag, str) or not self.is_true(element):
                continue
            name = element.tag.rpartition('}')[2]
            if name not in USED:
                self.ignored.add(name)
            inherited = into.get(name, self.metadata.get(name, ''))
            into[name] = self.substitution.put(rf'%\({re.escape(name)}\)', self.expand(element.text),
                                               lambda _: inherited).strip()

    def excludes(self, element):
        return isinstance(element.tag, str) and element.tag.endswith('}ExcludedFromBuild') and self.is_true(element) \
            and self.expand(element.text).strip().lower() == 'true'

    def item_group(self, group):
        for item in group:
            if not isinstance(item.tag, str) or not self.is_true(item):
                continue
            tag, own = item.tag.rpartition('}')[2], {}
            if tag == 'MASM' and not any(self.excludes(element) for element in item):
                self.assembly += words(self.expand(item.get('Include')))
            if tag == 'ProjectReference':
                self.references.append(self.expand(item.get('Include')))
            if tag != 'ClCompile':
                continue
            self.read_metadata(item, own)
            for written in filter(None, (part.strip() for part in self.expand(item.get('Include')).split(';'))):
                # MSBuild's rule, then what is meant
                at = self.project.folder if any(files(written, self.project.folder)) else self.folder
                self.compiled.append((written, at, own))


def words(text):
    return [word.strip() for word in text.split(';') if word.strip() and '%(' not in word]


def definitions(text, project):
    """Returns the definitions in a list. A property that nothing sets is empty."""
    found = []
    for word in words(text):
        plain = re.sub(r'\$\([^()]*\)', '', word).strip()
        note = f'{word}: a property that nothing sets; it counts as empty'
        if plain != word and note not in project.notes:
            project.notes.append(note)
        if re.match(r'[A-Za-z_]', plain):
            found.append(plain)
    return found


class Settings:
    """How some files are compiled. Folders of headers are those of the whole project."""

    def __init__(self, metadata, project):
        self.defines = definitions(metadata.get('PreprocessorDefinitions', ''), project)
        self.undefines = words(metadata.get('UndefinePreprocessorDefinitions', ''))
        self.forced = words(metadata.get('ForcedIncludeFiles', ''))
        self.standard = STANDARDS.get(metadata.get('LanguageStandard', '').lower(), STANDARD)
        if metadata.get('ExceptionHandling', '').lower() not in ('', 'false'):
            project.exceptions = True
        self.read_options(metadata.get('AdditionalOptions', ''), project)
        for written in words(metadata.get('AdditionalIncludeDirectories', '')):
            project.add_include(written)
        for function in words_of_wpp(metadata):
            if function not in project.wpp:
                project.wpp.append(function)

    def read_options(self, text, project):
        """Reads -D, -U, -I and -FI of additional options of the compiler."""
        for kind, quoted, plain in re.findall(r'(?:^|\s)[-/](D|U|I|FI)\s*(?:"([^"]*)"|([^\s"]+))', text):
            word = (quoted or plain).replace('\\"', '"')
            if kind == 'D':
                self.defines += definitions(word, project)
            elif kind == 'U':
                self.undefines.append(word)
            elif kind == 'I':
                project.add_include(word)
            else:
                self.forced.append(word)


def files(written, folder):
    if '*' not in written and '?' not in written:
        return [find(folder, written)]
    return match(folder, written)


def read_vcxproj(path, project, configuration):
    project.kind = 'project file'
    evaluator = Evaluator(project, configuration)
    implicit = above(project.folder, named('Directory.Build.props'))  # as Microsoft.Cpp.Default.props
    if implicit:
        evaluator.read(implicit)
    evaluator.read(path)
    common = evaluator.metadata
    project.type = evaluator.properties.get('configurationtype', '').lower()
    for written in evaluator.references:
        project.add_reference(written)
    for written, folder, own in evaluator.compiled:
        if own.get('ExcludedFromBuild', '').lower() == 'true':
            continue
        settings = Settings({**common, **own}, project) if USED & own.keys() else None
        for source in files(written, folder):
            project.add_source(source, written)
            if settings:
                project.per_file[source] = settings
    settings = Settings(common, project)
    project.defines, project.undefines, project.forced = settings.defines, settings.undefines, settings.forced
    project.standard = settings.standard
    project.assembly += evaluator.assembly
    if evaluator.ignored:
        ignored = ', '.join(sorted(evaluator.ignored)[:20])
        project.notes.append(f'{path}: settings without meaning here are ignored: {ignored}')


def words_of_wpp(metadata):
    """Returns the trace functions that the project names: WppTraceFunction, or -func: in additional options."""
    lines = metadata.get('WppTraceFunction', '').split(';')
    lines += wpp.named_functions(metadata.get('WppAdditionalOptions', ''))
    return [line.strip().strip('"') for line in lines if line.strip() and '%(' not in line]
