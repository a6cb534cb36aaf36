/* SPDX-License-Identifier: MIT */
/*
 * Implements generic tables in splay trees: see wdm/table.h. A lookup, insertion or enumeration makes its element the
 * root, so that frequently used elements are near the root. The root's Parent is the root itself.
 */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "ntddk.h"

#include "wdk/common/link.h"
#include "wdk/ke/thread.h"

struct splay_node {
    RTL_SPLAY_LINKS links;
    LIST_ENTRY inserted; /* in the table's InsertOrderList */
    UCHAR data[];
};

static struct splay_node *splay_node_of(RTL_SPLAY_LINKS *links)
{
    return (struct splay_node *)(void *)links;
}

static void *splay_data(RTL_SPLAY_LINKS *links)
{
    return links ? splay_node_of(links)->data : NULL;
}

static RTL_SPLAY_LINKS **splay_side(RTL_SPLAY_LINKS *node, bool right)
{
    return right ? &node->RightChild : &node->LeftChild;
}

static bool splay_is_root(const RTL_SPLAY_LINKS *node)
{
    return node->Parent == node;
}

static bool splay_is_right(const RTL_SPLAY_LINKS *node)
{
    return node->Parent->RightChild == node;
}

/* ---- The tree ---------------------------------------------------------------------------------------------------- */

static RTL_SPLAY_LINKS *splay_first(RTL_SPLAY_LINKS *node)
{
    while (node && node->LeftChild)
        node = node->LeftChild;
    return node;
}

static RTL_SPLAY_LINKS *splay_next(RTL_SPLAY_LINKS *node)
{
    if (node->RightChild)
        return splay_first(node->RightChild);
    while (!splay_is_root(node) && splay_is_right(node))
        node = node->Parent;
    return splay_is_root(node) ? NULL : node->Parent;
}

/* Raises the node, which is not the root, above its parent. */
static void splay_raise(RTL_SPLAY_LINKS *node)
{
    RTL_SPLAY_LINKS *parent = node->Parent;
    bool right = splay_is_right(node);
    RTL_SPLAY_LINKS *inner = *splay_side(node, !right);

    if (splay_is_root(parent)) {
        node->Parent = node;
    } else {
        *splay_side(parent->Parent, splay_is_right(parent)) = node;
        node->Parent = parent->Parent;
    }
    *splay_side(parent, right) = inner;
    if (inner)
        inner->Parent = parent;
    *splay_side(node, !right) = parent;
    parent->Parent = node;
}

/* Makes the node the root. */
static void splay_to_root(RTL_GENERIC_TABLE *table, RTL_SPLAY_LINKS *node)
{
    while (!splay_is_root(node)) {
        if (!splay_is_root(node->Parent))
            splay_raise(splay_is_right(node) == splay_is_right(node->Parent) ? node->Parent : node);
        splay_raise(node);
    }
    table->TableRoot = node;
}

/* Removes the node. The first node of its right subtree becomes the root, and gets the left subtree. */
static void splay_remove(RTL_GENERIC_TABLE *table, RTL_SPLAY_LINKS *node)
{
    RTL_SPLAY_LINKS *left, *right;

    splay_to_root(table, node);
    left = node->LeftChild;
    right = node->RightChild;
    if (left)
        left->Parent = left;
    table->TableRoot = left;
    if (!right)
        return;
    right->Parent = right;
    splay_to_root(table, splay_first(right));
    table->TableRoot->LeftChild = left;
    if (left)
        left->Parent = table->TableRoot;
}

/*
 * Returns the node that equals `buffer`, otherwise the node that would be its parent. Returns NULL if the tree is
 * empty.
 */
static RTL_SPLAY_LINKS *splay_find(RTL_GENERIC_TABLE *table, void *buffer, TABLE_SEARCH_RESULT *result)
{
    RTL_SPLAY_LINKS *node = table->TableRoot, *parent = NULL;

    *result = TableEmptyTree;
    while (node) {
        RTL_GENERIC_COMPARE_RESULTS order = table->CompareRoutine(table, buffer, splay_data(node));

        parent = node;
        if (order == GenericEqual) {
            *result = TableFoundNode;
            return node;
        }
        *result = order == GenericLessThan ? TableInsertAsLeft : TableInsertAsRight;
        node = *splay_side(node, *result == TableInsertAsRight);
    }
    return parent;
}

/* ---- The routines ------------------------------------------------------------------------------------------------ */

VOID RtlInitializeGenericTable(PRTL_GENERIC_TABLE Table, PRTL_GENERIC_COMPARE_ROUTINE CompareRoutine,
                               PRTL_GENERIC_ALLOCATE_ROUTINE AllocateRoutine, PRTL_GENERIC_FREE_ROUTINE FreeRoutine,
                               PVOID TableContext)
{
    irql_check_max(__func__, DISPATCH_LEVEL);
    memset(Table, 0, sizeof *Table);
    link_init(&Table->InsertOrderList);
    Table->OrderedPointer = &Table->InsertOrderList;
    Table->CompareRoutine = CompareRoutine;
    Table->AllocateRoutine = AllocateRoutine;
    Table->FreeRoutine = FreeRoutine;
    Table->TableContext = TableContext;
}

PVOID RtlInsertElementGenericTableFull(PRTL_GENERIC_TABLE Table, PVOID Buffer, CLONG BufferSize, PBOOLEAN NewElement,
                                       PVOID NodeOrParent, TABLE_SEARCH_RESULT SearchResult)
{
    struct splay_node *node;

    irql_check_max("RtlInsertElementGenericTable", DISPATCH_LEVEL);
    if (NewElement)
        *NewElement = FALSE;
    if (SearchResult == TableFoundNode) {
        splay_to_root(Table, NodeOrParent);
        return splay_data(NodeOrParent);
    }
    node = Table->AllocateRoutine(Table, (CLONG)sizeof *node + BufferSize);
    if (!node)
        return NULL;
    node->links = (RTL_SPLAY_LINKS){ .Parent = &node->links };
    memcpy(node->data, Buffer, BufferSize);
    link_insert_before(&Table->InsertOrderList, &node->inserted);
    if (SearchResult != TableEmptyTree) {
        node->links.Parent = NodeOrParent;
        *splay_side(NodeOrParent, SearchResult == TableInsertAsRight) = &node->links;
    }
    splay_to_root(Table, &node->links);
    Table->NumberGenericTableElements++;
    if (NewElement)
        *NewElement = TRUE;
    return node->data;
}

PVOID RtlInsertElementGenericTable(PRTL_GENERIC_TABLE Table, PVOID Buffer, CLONG BufferSize, PBOOLEAN NewElement)
{
    TABLE_SEARCH_RESULT result;
    RTL_SPLAY_LINKS *place = splay_find(Table, Buffer, &result);

    return RtlInsertElementGenericTableFull(Table, Buffer, BufferSize, NewElement, place, result);
}

BOOLEAN RtlDeleteElementGenericTable(PRTL_GENERIC_TABLE Table, PVOID Buffer)
{
    TABLE_SEARCH_RESULT result;
    RTL_SPLAY_LINKS *node;

    irql_check_max(__func__, DISPATCH_LEVEL);
    node = splay_find(Table, Buffer, &result);
    if (result != TableFoundNode)
        return FALSE;
    splay_remove(Table, node);
    link_remove(&splay_node_of(node)->inserted);
    Table->NumberGenericTableElements--;
    Table->WhichOrderedElement = 0; /* RtlGetElementGenericTable starts at the first element again */
    Table->OrderedPointer = &Table->InsertOrderList;
    Table->FreeRoutine(Table, node);
    return TRUE;
}

PVOID RtlLookupElementGenericTableFull(PRTL_GENERIC_TABLE Table, PVOID Buffer, PVOID *NodeOrParent,
                                       TABLE_SEARCH_RESULT *SearchResult)
{
    RTL_SPLAY_LINKS *node;

    irql_check_max("RtlLookupElementGenericTable", DISPATCH_LEVEL);
    node = splay_find(Table, Buffer, SearchResult);
    *NodeOrParent = node;
    if (*SearchResult != TableFoundNode)
        return NULL;
    splay_to_root(Table, node);
    return splay_data(node);
}

PVOID RtlLookupElementGenericTable(PRTL_GENERIC_TABLE Table, PVOID Buffer)
{
    TABLE_SEARCH_RESULT result;
    PVOID node;

    return RtlLookupElementGenericTableFull(Table, Buffer, &node, &result);
}

PVOID RtlEnumerateGenericTable(PRTL_GENERIC_TABLE Table, BOOLEAN Restart)
{
    RTL_SPLAY_LINKS *next = NULL;

    irql_check_max(__func__, DISPATCH_LEVEL);
    if (Table->TableRoot)
        next = Restart ? splay_first(Table->TableRoot) : splay_next(Table->TableRoot);
    if (next)
        splay_to_root(Table, next);
    return splay_data(next);
}

PVOID RtlEnumerateGenericTableWithoutSplaying(PRTL_GENERIC_TABLE Table, PVOID *RestartKey)
{
    RTL_SPLAY_LINKS *next;

    irql_check_max(__func__, DISPATCH_LEVEL);
    next = *RestartKey ? splay_next(*RestartKey) : splay_first(Table->TableRoot);
    if (next)
        *RestartKey = next;
    return splay_data(next);
}

/* OrderedPointer is the entry of the element that was returned last. WhichOrderedElement is its number, from 1. */
PVOID RtlGetElementGenericTable(PRTL_GENERIC_TABLE Table, ULONG I)
{
    LIST_ENTRY *at = Table->OrderedPointer;
    ULONG number = Table->WhichOrderedElement;

    irql_check_max(__func__, DISPATCH_LEVEL);
    if (I >= Table->NumberGenericTableElements)
        return NULL;
    for (; number <= I; number++)
        at = at->Flink;
    for (; number > I + 1; number--)
        at = at->Blink;
    Table->OrderedPointer = at;
    Table->WhichOrderedElement = number;
    return CONTAINING_RECORD(at, struct splay_node, inserted)->data;
}

ULONG RtlNumberGenericTableElements(PRTL_GENERIC_TABLE Table)
{
    return Table->NumberGenericTableElements;
}

BOOLEAN RtlIsGenericTableEmpty(PRTL_GENERIC_TABLE Table)
{
    return !Table->TableRoot;
}
