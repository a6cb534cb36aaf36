# SPDX-License-Identifier: MIT
"""The source list, folders and names of a project file, of a `sources` file, or of a plain folder."""
import glob
import os

from . import Trouble, read_file
from .macros import MAX_FILES, MAX_PROJECT
from .paths import find
from .msbuild import STANDARD, read_vcxproj
from .sources_file import read_sources

MAX_NAME = 200
COMPILED = ('.c', '.cpp', '.cc', '.cxx')
ASSEMBLY = ('.asm', '.s')


class Project:
    """
    All paths are absolute. `per_file`: objects with the defines, undefines and forced headers of single sources, in
    place of the project's; `wpp`: FUNC lines of the project; `references`: the projects that it names as
    ProjectReference; `libraries`: the static libraries among them, with options of their own; `assembly`: the sources
    that are left out; `standard`: that of C++; `exceptions`: the project turns those of C++ on.
    """

    def __init__(self, name, folder):
        self.name, self.folder = name, folder
        self.sources, self.includes, self.defines, self.forced = [], [], [], []
        self.undefines, self.per_file, self.wpp, self.notes = [], {}, [], []
        self.references, self.libraries = [], []
        self.kind, self.type = '', ''
        self.assembly, self.standard, self.exceptions = [], STANDARD, False

    def add_source(self, path, written):
        if os.path.splitext(written)[1].lower() in ASSEMBLY:
            self.assembly.append(written)
        elif os.path.splitext(written)[1].lower() not in COMPILED:
            self.notes.append(f'{written}: ignored, because it is not C or C++')
        elif path is None or not os.path.isfile(path):
            raise Trouble(f'{self.name}: {written}: no such file, but the project lists it')
        elif not path.isprintable():
            raise Trouble(f'{path}: a name with characters that cannot be printed')
        elif path not in self.sources:
            self.sources.append(path)

    def settings(self, source):
        """Returns the object with the attributes defines, undefines, forced and standard of a source."""
        return self.per_file.get(source, self)

    def output(self):
        """Returns the output file if -o is not given: in the current folder, because the project is untrusted."""
        if not self.name.isprintable() or self.name in ('', '.', '..') or any(c in self.name for c in '/\\') \
                or len(os.fsencode(self.name)) > MAX_NAME:
            raise Trouble(f'{self.name[:MAX_NAME]}: the project\'s name (TARGETNAME) is not a file name: use -o')
        return self.name + '.so'

    def add_include(self, written):
        if '$(' in written or '%(' in written:
            return  # a folder of the Windows kit
        path = find(self.folder, written)
        if path and path not in self.includes:
            self.includes.append(path)
        elif not path:
            self.notes.append(f'{written}: an include folder that does not exist')

    def add_reference(self, written):
        path = None if '$(' in written else find(self.folder, written)
        if path and path.lower().endswith('.vcxproj') and os.path.isfile(path):
            self.references.append(path)
        else:
            self.notes.append(f'{written}: a referenced project that does not exist')


def is_driver(path):
    return os.path.isfile(path) and b'<ConfigurationType>Driver<' in read_file(path, MAX_PROJECT)


def from_folder(folder, configuration):
    """Reads the folder's driver project, else its `sources`, else its only project, else all of its C files."""
    projects = sorted(glob.glob(os.path.join(glob.escape(folder), '*.[vV][cC][xX][pP][rR][oO][jJ]')))
    drivers = [path for path in projects if is_driver(path)]
    if len(drivers) > 1:
        raise Trouble(f'{folder} has several driver projects, name one: '
                      + ', '.join(os.path.basename(path) for path in drivers))
    sources = find(folder, 'sources')
    if drivers:
        return from_file(drivers[0], configuration)
    if sources and os.path.isfile(sources):
        return from_file(sources, configuration)
    if len(projects) == 1:
        return from_file(projects[0], configuration)
    if projects:
        raise Trouble(f'{folder} has several projects, name one: '
                      + ', '.join(os.path.basename(path) for path in projects))
    project = Project(os.path.basename(folder), folder)
    for name in sorted(os.listdir(folder)):
        if os.path.splitext(name)[1].lower() in COMPILED + ASSEMBLY:
            project.add_source(os.path.join(folder, name), name)
    return project if project.sources else from_below(folder, configuration)


def from_below(folder, configuration):
    """Reads the only driver project below a solution's folder."""
    drivers = []
    for at, folders, names in os.walk(folder):
        folders.sort()
        drivers += [os.path.join(at, name) for name in sorted(names)
                    if name.lower().endswith('.vcxproj') and is_driver(os.path.join(at, name))]
    if len(drivers) == 1:
        return from_file(drivers[0], configuration)
    if drivers:
        raise Trouble(f'{folder} has several driver projects, name one: '
                      + ', '.join(os.path.relpath(path, folder) for path in drivers))
    raise Trouble(f'{folder} has neither a project (*.vcxproj), nor a `sources` file, nor C files')


def from_file(path, configuration, is_library=False):
    folder = os.path.dirname(path)
    if path.lower().endswith('.vcxproj'):
        project = Project(os.path.splitext(os.path.basename(path))[0], folder)
        read_vcxproj(path, project, configuration)
        beside = find(folder, 'sources')
        if not project.sources and beside and os.path.isfile(beside):
            project.notes.append(f'{path} lists no C files: those of {beside} are used')
            read_sources(beside, project)
    else:
        project = Project(os.path.basename(folder), folder)
        read_sources(path, project)
    if not project.sources and not is_library:
        raise Trouble(f'{path} lists no C files')
    return project


def add_libraries(project, configuration):
    """Reads the static libraries that the project and its libraries refer to, each one once."""
    seen, waiting = set(), list(project.references)
    while waiting:
        path = waiting.pop(0)
        if path in seen:
            continue
        seen.add(path)
        if len(seen) > MAX_FILES:
            raise Trouble(f'{project.name} refers to more than {MAX_FILES} projects')
        library = from_file(path, configuration, is_library=True)
        if library.type in ('', 'staticlibrary'):
            project.libraries.append(library)
            waiting += library.references
        else:
            project.notes.append(f'{path}: ignored, because it is not a static library')
    project.libraries = [library for library in project.libraries if library.sources]


def gather(arguments, configuration):
    """Returns the project that the command line's folders and files describe."""
    paths = [os.path.abspath(argument) for argument in arguments]
    for path, argument in zip(paths, arguments):
        if not os.path.exists(path):
            raise Trouble(f'{argument}: there is no such file or folder')
    whole = [path for path in paths if os.path.isdir(path) or path.lower().endswith('.vcxproj')
             or os.path.basename(path).lower() == 'sources']
    if whole:
        read = [from_folder(path, configuration) if os.path.isdir(path) else from_file(path, configuration)
                for path in whole]
        project = read[0]
        project.references += [reference for library in read[1:] for reference in library.references]
        project.libraries = read[1:]
        add_libraries(project, configuration)
    else:
        project = Project(os.path.splitext(os.path.basename(paths[0]))[0], os.path.dirname(paths[0]))
    for path in paths:
        if path not in whole and os.path.splitext(path)[1].lower() not in COMPILED:
            raise Trouble(f'{path}: neither a folder, nor a project, nor C')
        if path not in whole:
            project.add_source(path, path)
    return project
